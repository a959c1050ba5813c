#pragma once

#include <optional>

#include "ir/op.h"

namespace kdl::simt {

/// If the contraction adds outer products in sequential order, returns the axes that it keeps: one axis of
/// its first factor, and then one of its second factor. All other axes of both factors are reduced. Otherwise
/// returns nothing.
std::optional<ir::AxisList> OuterAxes(const ir::Op* op);

}  // namespace kdl::simt
