#pragma once

#include <span>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

void GenWhile(FunctionGen& gen, const syntax::WhileStmt& loop);
void GenBreak(FunctionGen& gen);
void GenContinue(FunctionGen& gen);
/// Whether a statement may leave the turn of the loop around it.
bool Jumps(const syntax::Stmt* stmt);
/// `body`, in a turn of a loop whose vars have been bound; what `break` and `continue` need is there.
void GenIteration(FunctionGen& gen, const syntax::BlockStmt& body);
/// The rest of a block after a statement that jumps: it happens where that has not jumped. `vars` it assigns.
void GenRest(FunctionGen& gen, std::span<const syntax::Stmt* const> rest);
/// A loop over a list, whose turns are copies of its body.
void GenUnrolled(FunctionGen& gen, const syntax::BlockStmt& copies);
/// Enters a loop and leaves it: `break` and `continue` in its body are its own.
void OpenLoop(FunctionGen& gen, const syntax::BlockStmt& body);
void CloseLoop(FunctionGen& gen);
/// `for` in a fn that is mapped, from binder `depth` on: a `while`, since its bounds may differ by element.
void GenMappedFor(FunctionGen& gen, const syntax::ForStmt& loop, size_t depth);

}  // namespace kdl::irgen
