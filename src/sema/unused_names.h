#pragma once

#include <span>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Warns about names that the functions of the compiled file declare but do not use: values, ranges, domains, tensors, and the
/// inputs of kernels and programs. Names that begin with `_` may be unused, and so may tensors that give sizes their values,
/// and the indices of loops. All bodies must have been checked.
void ReportUnusedNames(ModuleState& module, std::span<FunctionGroup* const> functions);

}  // namespace kdl::sema
