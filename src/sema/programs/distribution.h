#pragma once

#include <cstdint>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks the distribution of a tensor over the ranks of its device: `let x: f32[M, N] on grid by (M, _);`. Returns, for each
/// dimension, the axis of the grid of ranks along which it is distributed, or -1. Returns nothing if the tensor is not
/// distributed or after an error.
std::vector<int64_t> CheckDistribution(FunctionState& state, const syntax::LetStmt& let,
                                       const Type& type, const Entity& device);

}  // namespace kdl::sema
