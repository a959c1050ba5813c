#pragma once

#include "irgen/walk/function_gen.h"
#include "sema/programs/checkpoint.h"

namespace kdl::irgen {

/// Generates what continues at the checkpoint of a loop, before the loop: sets the variables of the checkpoint. `limit` is the
/// condition of a `while`, or the upper bound of a `for`. For a `for`, `bounds` are its values for `binder`: the lower one is set to
/// the value that the loop must begin with. Returns the bool that says whether the program continues, or null if the loop has no
/// checkpoint.
ir::Value* GenRestore(FunctionGen& gen, const syntax::BlockStmt& body, const syntax::Expr* limit,
                      const sema::Entity* binder = nullptr, LoopBounds* bounds = nullptr);
/// Generates the statement that writes a checkpoint.
void GenCheckpoint(FunctionGen& gen, const sema::Checkpoint& checkpoint);

}  // namespace kdl::irgen
