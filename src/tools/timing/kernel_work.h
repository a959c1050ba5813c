#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "ir/module.h"
#include "support/scalar.h"

namespace kdl::tools {

/// Numbers of arithmetic operations, by scalar type. A multiply-add counts as two operations. The
/// products of a matrix instruction count for the type of its factors. Other reductions count for
/// the type of their accumulator.
using Operations = std::map<Scalar, double>;

double Sum(const Operations& operations);

/// Counts the operations that the source specifies for one launch, including those in library
/// functions: additions, multiplications, divisions, minima, maxima and square roots that operate on
/// floats or belong to reductions. The kernel must be at tile level with constant extents. Returns
/// nothing if the counts depend on the contents of tensors. `value` returns the values of size names.
std::optional<Operations> CountWork(const ir::Module& module, const ir::Function& kernel,
                                    const std::function<std::optional<int64_t>(Name)>& value);

}  // namespace kdl::tools
