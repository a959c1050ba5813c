#pragma once

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// Replaces generics that have one value by that value in the sizes of axes, types and accesses. Also
/// replaces the i64 values in the body that represent these generics.
void BindConstants(ir::Function& function, ir::Module& module);

}  // namespace kdl::passes
