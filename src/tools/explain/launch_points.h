#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "ir/module.h"

namespace kdl::tools {

/// Returns the number of elements in the blocks of the kernel's `spmd for` loops: the products of the lengths of their ranges. A
/// range whose bounds are not known counts as one. `value` returns the values of size names and scalar parameters.
double CountPoints(const ir::Function& kernel,
                   const std::function<std::optional<int64_t>(Name)>& value);

}  // namespace kdl::tools
