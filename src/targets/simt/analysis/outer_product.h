#pragma once

#include <optional>

#include "ir/op.h"

namespace kdl::simt {

/// If the contraction adds outer products in sequential order, returns the axes that it keeps: one of its
/// first factor, then one of its second. It reduces all other axes of both factors.
std::optional<ir::AxisList> OuterAxes(const ir::Op* op);

}  // namespace kdl::simt
