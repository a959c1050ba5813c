#pragma once

#include <optional>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks the distribution of a tensor over the ranks of its device: `let x: f32[M, N] on grid by (M, _);`. Returns the
/// distributed dimension, or nothing if there is none or after an error.
std::optional<size_t> CheckDistribution(FunctionState& state, const syntax::LetStmt& let,
                                        const Type& type, const Entity& device);

}  // namespace kdl::sema
