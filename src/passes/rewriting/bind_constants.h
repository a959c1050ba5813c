#pragma once

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// Replaces the symbols of the generics that have one value by that value, wherever a size stands: axes, types, accesses,
/// and the i64 values that stand for the generics in the body.
void BindConstants(ir::Function& function, ir::Module& module);

}  // namespace kdl::passes
