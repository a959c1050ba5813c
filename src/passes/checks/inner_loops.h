#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::passes {

/// If a store uses only some of the loop variables of its `spmd for` as whole indices, returns the head of the loop without
/// the other ones and the head of an inner loop for them: `spmd for i in M by 64 { for k in K by 32 { … } }`. In this form,
/// one block writes all that belongs to an element. Returns an empty string if there is no such form.
std::string InnerLoop(const ir::Function& kernel, const ir::Op* store);

/// Returns the names of the loop variables in that inner loop, such as `k` or `k and l`.
std::string InnerLoopNames(const ir::Op* store);

}  // namespace kdl::passes
