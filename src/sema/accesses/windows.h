#pragma once

#include <optional>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks the sum after `over` in `range p over i + r - 2;`. Returns nothing after reporting an error.
std::optional<IndexDim> CheckWindow(FunctionState& state, const syntax::Expr* expr);

/// Returns the largest number of elements that a window can have.
Size WindowExtent(FunctionState& state, const IndexDim& window);

/// Checks an index of a tile along a range with a window. It must be in the window for all points of its
/// ranges. `otherwise` is the value after `else`, or null. Returns nothing after reporting an error, and
/// otherwise whether the window surely has elements. It has none if a range of its sum is empty that the
/// index leaves out.
std::optional<bool> CheckIndexInWindow(FunctionState& state, const Entity& range,
                                       const IndexDim& index, const syntax::Expr* otherwise);

}  // namespace kdl::sema
