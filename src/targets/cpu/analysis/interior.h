#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "targets/cpu/analysis/last_axis.h"

namespace kdl::cpu {

/// A linear condition on a point of an elementwise loop: `constant` plus the sum of all terms is at least 0.
/// Values are index operands of the loop's body. At most one of them is the point along the last axis; the
/// others are the same for a whole row.
struct PointCondition {
  std::vector<std::pair<const ir::Value*, int64_t>> terms;  ///< value, factor
  std::vector<std::pair<Size, int64_t>> sizes;              ///< size, factor
  int64_t constant = 0;
};

/// The conditions for a point to be in the interior of an elementwise loop: there, all neighbors exist that
/// the body reads with `else`.
struct Interior {
  std::vector<PointCondition> conditions;
  std::vector<const ir::Op*> inside;  ///< the loads with `else` that are in bounds at such points
  /// Whether a point may run twice: the loop reads nothing that it writes.
  bool is_repeatable = true;
};

/// Returns the interior of an elementwise loop, or nothing if the loop does not benefit from treating it
/// separately, or if the order of its points matters.
std::optional<Interior> InteriorOf(const ir::Op* elementwise, const LastAxis& last);

/// Inserts a copy of the elementwise loop before the loop. The body of the copy is simplified and may only
/// run in the interior.
ir::Op* MakeInteriorLoop(ir::Module& module, const ir::Op* elementwise, const Interior& interior);

}  // namespace kdl::cpu
