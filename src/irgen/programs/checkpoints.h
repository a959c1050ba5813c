#pragma once

#include <vector>

#include "irgen/walk/function_gen.h"
#include "sema/programs/checkpoint.h"

namespace kdl::irgen {

/// Generates what continues at the checkpoint of a loop, before the loop: sets the variables of the checkpoint. `limits` are the
/// values from which the number of iterations is computed. If `first` is the variable of the loop, it is set to the value that the
/// loop must begin with. Returns the bool that says whether the program continues, or null if the loop has no checkpoint.
ir::Value* GenRestore(FunctionGen& gen, const syntax::BlockStmt& body,
                      const std::vector<ir::Value*>& limits, const sema::Entity* binder = nullptr,
                      ir::Value** first = nullptr);
/// Generates the statement that writes a checkpoint.
void GenCheckpoint(FunctionGen& gen, const sema::Checkpoint& checkpoint);

}  // namespace kdl::irgen
