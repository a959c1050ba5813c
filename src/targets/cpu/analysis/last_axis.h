#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "ir/op.h"
#include "ir/op_kind.h"

namespace kdl::cpu {

/// Whether the value is what a fold in a elementwise loop gives after the walk, not at a point.
inline bool IsFolded(const ir::Value* value) {
  return value->def() && value->def()->kind() == ir::OpKind::ReduceInLoop;
}

/// How a elementwise loop's body behaves along its last axis.
class LastAxis {
 public:
  explicit LastAxis(const ir::Op* elementwise);

  /// Whether vectors of several elements can run the body.
  bool Vectorizes() const { return !scattered_ && across_.empty(); }
  /// Whether they can once the loads, or stores, of Across() are transposed: each of them walks the axis from row to row,
  /// and another one of the elementwise loop, the same for all, side by side.
  bool Transposes() const { return !scattered_ && !across_.empty(); }
  const std::vector<const ir::Op*>& Across() const { return across_; }
  /// Where in the elementwise loop's axes the one stands that those accesses walk side by side.
  size_t across_axis() const { return across_axis_; }

  /// The same for every element of the axis.
  bool IsUniform(const ir::Value* value) const {
    return value != point_ && !varying_.contains(value);
  }
  /// May stand before the loop over the axis.
  bool IsInvariant(const ir::Op* op) const { return !staying_.contains(op); }
  /// The width that decides how many elements a vector takes: the widest that the body computes.
  int64_t Bytes() const { return bytes_ ? bytes_ : 8; }

 private:
  bool MustStay(const ir::Op* op) const;
  void Study(const ir::Op* op);
  void StudyWhile(const ir::Op* op);
  void StudyAccess(const ir::Op* op);
  bool WalksRows(const ir::Op* op);
  bool AllUniform(std::span<ir::Value* const> values) const;
  void Count(kdl::Scalar scalar);

  const ir::Op* elementwise_;
  const ir::Value* point_;
  ir::AxisId axis_;
  bool scattered_ = false;  ///< something can run only element by element
  std::vector<const ir::Op*> across_;
  size_t across_axis_ = 0;
  int64_t bytes_ = 0;
  std::unordered_set<const ir::Value*> varying_;
  std::unordered_set<const ir::Op*> staying_;  ///< in the loop over the axis
};

}  // namespace kdl::cpu
