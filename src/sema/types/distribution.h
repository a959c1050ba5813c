#pragma once

#include <string_view>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks the distribution of a tensor with this name over the ranks of its device: `let x: f32[M, N] on grid by (M, _);`.
/// Returns nothing if the tensor is not distributed or after an error.
Distribution CheckDistribution(FunctionState& state, std::string_view name,
                               const syntax::Placement& on, const Type& type, const Entity& device);

}  // namespace kdl::sema
