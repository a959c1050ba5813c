#pragma once

#include <optional>

#include "ir/op.h"

namespace kdl::simt {

/// If the contraction adds outer products in sequential order, returns the two axes that it keeps: first that
/// of its first factor, then that of its second factor. (All other axes of the factors are reduced.) Returns
/// nothing for other contractions.
std::optional<ir::AxisList> OuterAxes(const ir::Op* op);

}  // namespace kdl::simt
