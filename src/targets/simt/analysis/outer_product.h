#pragma once

#include <optional>

#include "ir/op.h"

namespace kdl::simt {

/// Of a contraction whose terms are outer products, taken in a chain: the axes that it keeps, of its first factor
/// and of its second. All others it folds, of both.
std::optional<ir::AxisList> OuterAxes(const ir::Op* op);

}  // namespace kdl::simt
