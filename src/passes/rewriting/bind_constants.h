#pragma once

#include <functional>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// Returns the size that replaces a name, or null to keep the name.
using SizeOfName = std::function<Size(Name)>;

/// Replaces names in the sizes of axes, types, accesses and requirements, and in the i64 values in the body that
/// represent them. The new sizes consist of dims of the function.
void ReplaceSizes(ir::Function& function, ir::Module& module, const SizeOfName& replace);

/// Replaces generics that have one value by that value in the sizes of axes, types and accesses. Also
/// replaces the i64 values in the body that represent these generics.
void BindConstants(ir::Function& function, ir::Module& module);

}  // namespace kdl::passes
