#pragma once

#include <span>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

void GenWhile(FunctionGen& gen, const syntax::WhileStmt& loop);
void GenBreak(FunctionGen& gen);
void GenContinue(FunctionGen& gen);
/// Returns whether a statement may end the current iteration of the enclosing loop.
bool Jumps(const syntax::Stmt* stmt);
/// Generates `body` as one iteration of a loop, with the bools that `break` and `continue` require. The
/// loop's variables must already be bound.
void GenIteration(FunctionGen& gen, const syntax::BlockStmt& body);
/// Generates those statements of a block that follow a statement that may jump. They are executed only if it
/// did not jump.
void GenRest(FunctionGen& gen, std::span<const syntax::Stmt* const> rest);
/// Generates a loop over a list, whose iterations are copies of its body.
void GenUnrolled(FunctionGen& gen, const syntax::BlockStmt& copies);
/// Begin and end the generation of a loop. A `break` or `continue` generated in between belongs to this loop.
void OpenLoop(FunctionGen& gen, const syntax::BlockStmt& body);
void CloseLoop(FunctionGen& gen);
/// Generates a `for`, from its variable number `depth` on, in a fn that is applied to each element of a tile.
/// It becomes a `while`, because its bounds may differ between elements.
void GenMappedFor(FunctionGen& gen, const syntax::ForStmt& loop, size_t depth);

}  // namespace kdl::irgen
