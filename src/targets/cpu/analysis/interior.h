#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// A linear condition on a point of an elementwise loop: `constant` plus the sum of all terms is at least 0.
/// The values are indices that the loop's body uses. At most one of them is the loop's index along the last
/// axis; the others are the same for a whole row.
struct PointCondition {
  std::vector<std::pair<const ir::Value*, int64_t>> terms;  ///< pairs of a value and its factor
  std::vector<std::pair<Size, int64_t>> sizes;              ///< pairs of a size and its factor
  int64_t constant = 0;

  bool operator==(const PointCondition&) const = default;
};

/// The interior of an elementwise loop: the points at which its body is simpler, because all neighbors of an
/// element exist. A point is in the interior if all conditions are true, including those of its row.
struct Interior {
  std::vector<PointCondition> conditions;
  /// The conditions that are the same for a whole row. If only these are false, some loads are out of bounds in
  /// the whole row.
  std::vector<PointCondition> row_conditions;
  /// The conditions that the dimensions indexed by `row_conditions` have elements.
  std::vector<PointCondition> nonempty;
  /// Sums that must not wrap around, because a condition is the difference of two of them.
  std::vector<PointCondition> exact;
  std::vector<const ir::Op*> inside;  ///< the loads with `else` that are in bounds in the interior
  /// The minima and maxima of indices that have no effect in the interior, each with the number of the operand
  /// that is the result there.
  std::vector<std::pair<const ir::Op*, size_t>> clamps;
  std::vector<std::pair<const ir::Op*, bool>>
      comparisons;  ///< each with its result in the interior
  /// The accesses to short rows, which are vectors in the interior if the rows of their tensors adjoin.
  std::vector<const ir::Op*> in_short_rows;
  /// Whether elements that are a few elements apart are vectors in the interior, but not elsewhere.
  bool has_steps = false;
  /// Whether the body may run twice for a point, because the loop reads nothing that it writes.
  bool is_repeatable = true;
};

/// The numbers of elements that a row of the loop may have before and after its interior, if these do not depend on
/// the row, and the interior is not empty for another reason.
struct Margins {
  int64_t left = 0;
  int64_t right = 0;
};

/// Returns the largest margins of rows along an axis that covers `domain`, whose index is `point`. Returns nothing if
/// they are not constant.
std::optional<Margins> MarginsOf(const Interior& interior, const ir::Value* point, Size domain);

/// Whether the loop has masked accesses that run lane by lane when it runs where elements may be out of bounds.
bool HasSlowMasks(const ir::Op* elementwise, const ProcessorFacts& facts);
/// Whether the loop reads a tensor that it writes, or may read a tile in whose buffer it stores a result.
bool ReadsWhatItWrites(const ir::Op* elementwise);

/// Returns the interior of an elementwise loop, or nothing if separate code for the interior saves no time,
/// or if the order of points matters other than in reductions. If masks are slow, the interior of a loop without
/// neighbors is the whole row.
std::optional<Interior> InteriorOf(ir::Module& module, const ir::Op* elementwise,
                                   const LastAxis& last, const ProcessorFacts& facts);

}  // namespace kdl::cpu
