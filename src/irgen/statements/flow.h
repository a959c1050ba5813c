#pragma once

#include <span>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

void GenWhile(FunctionGen& gen, const syntax::WhileStmt& loop);
void GenBreak(FunctionGen& gen);
void GenContinue(FunctionGen& gen);
/// Returns whether a statement may end the current iteration of its loop.
bool Jumps(const syntax::Stmt* stmt);
/// Generates `body` as one iteration of a loop whose variables have been bound, with the flags that `break`
/// and `continue` need.
void GenIteration(FunctionGen& gen, const syntax::BlockStmt& body);
/// Generates the rest of a block after a statement that may jump. It is executed only if there was no jump.
void GenRest(FunctionGen& gen, std::span<const syntax::Stmt* const> rest);
/// Generates a loop over a list, whose iterations are copies of its body.
void GenUnrolled(FunctionGen& gen, const syntax::BlockStmt& copies);
/// Enter and leave a loop: `break` and `continue` in its body belong to it.
void OpenLoop(FunctionGen& gen, const syntax::BlockStmt& body);
void CloseLoop(FunctionGen& gen);
/// Generates a `for` in a fn that is mapped, from binder `depth` on. It becomes a `while`, because each
/// element may have its own bounds.
void GenMappedFor(FunctionGen& gen, const syntax::ForStmt& loop, size_t depth);

}  // namespace kdl::irgen
