#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "ir/module.h"
#include "support/scalar.h"

namespace kdl::tools {

/// Numbers of arithmetic operations for each scalar type. A multiply-add counts as two. A product
/// with a matrix instruction counts for the type of the factors; other reductions count for the
/// type of the accumulator.
using Operations = std::map<Scalar, double>;

double Sum(const Operations& operations);

/// Returns what the source asks a launch to compute, including library functions: additions,
/// multiplications, divisions, minima, maxima, and square roots, on floats and in reductions. The
/// kernel must be at tile level with constant extents. Returns nothing if the result depends on the
/// contents of tensors. `value` gives the values of size names.
std::optional<Operations> CountWork(const ir::Module& module, const ir::Function& kernel,
                                    const std::function<std::optional<int64_t>(Name)>& value);

}  // namespace kdl::tools
