#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "ir/module.h"
#include "support/scalar.h"

namespace kdl::tools {

/// Arithmetic operations, by the scalar that they are on; a multiply-add counts as two. Of a product with a unit that is
/// the factors' scalar, of other folds the accumulator's.
using Operations = std::map<Scalar, double>;

double Sum(const Operations& operations);

/// What the source asks a launch to compute, functions of the library included: additions, multiplications, divisions, minima,
/// maxima, roots of floats and of what folds take. Kernels with constant extents, at tile level. Nothing where it depends on what
/// tensors hold. `value`: of a size name.
std::optional<Operations> WorkOf(const ir::Module& module, const ir::Function& kernel,
                                 const std::function<std::optional<int64_t>(Name)>& value);

}  // namespace kdl::tools
