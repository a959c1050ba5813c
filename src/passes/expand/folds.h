#pragma once

#include "passes/expand/expander.h"

namespace kdl::passes {

inline constexpr int64_t kLanes = 64;

/// The accumulators of a `lanes64` order: scratch of 64 elements.
ir::Value* NewLanes(Expander& e, kdl::Scalar scalar, ir::Value* first, ir::Value* others);
/// Replaces lane n mod 64 by `step(lane)`.
void UpdateLane(Expander& e, ir::Value* lanes, kdl::Scalar scalar, ir::Value* n,
                const std::function<ir::Value*(ir::Value*)>& step);
/// Lane l takes lane l + 32, + 16, + 8, + 4, + 2, + 1; gives lane 0.
ir::Value* FoldLanes(Expander& e, ir::Value* lanes, kdl::Scalar scalar, ir::OpKind combine);

/// Stores the result of an expanded reduction at a position, or keeps it as a scalar.
void TakeResult(Expander& e, const ir::Op* op, const std::optional<Home>& home,
                const Position& position, ir::Value* value);

}  // namespace kdl::passes
