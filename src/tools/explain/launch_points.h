#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "ir/module.h"

namespace kdl::tools {

/// Returns the number of elements in the blocks of the kernel's `spmd for` loops, times the length of the first loop in the blocks,
/// of which a launch may execute only a part (passes/ranks/panel_kernel.h). A range whose bounds are not known counts as one. `value` returns the values of size names and scalar parameters.
double CountPoints(const ir::Function& kernel,
                   const std::function<std::optional<int64_t>(Name)>& value);

}  // namespace kdl::tools
