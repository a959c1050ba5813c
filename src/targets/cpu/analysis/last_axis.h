#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/op.h"
#include "ir/op_kind.h"
#include "targets/cpu/analysis/period.h"
#include "targets/cpu/analysis/steps.h"

namespace kdl::cpu {

/// Whether the value is the result of a reduction in an elementwise loop. Such a value is available only
/// after the loop.
inline bool IsFolded(const ir::Value* value) {
  return value->def() && value->def()->kind() == ir::OpKind::ReduceInLoop;
}

/// Says why the body of an elementwise loop must run element by element.
struct Obstacle {
  enum class Kind : uint8_t {
    DataIndex,      ///< an access whose index comes from memory
    ComputedIndex,  ///< an access whose index is not a sum of ranges and constants
    Stride,         ///< an access whose adjacent elements are not contiguous
    Rows,           ///< an access to a different row for each element
    SameElement,    ///< a store, or a masked load, of one element for the whole row
    GuardedMask,    ///< an access under a condition whose index is checked at run time
    Update,
    Trap,
    TrapInLoop,
  };
  const ir::Op* op;
  Kind kind;
};
/// Whether the `element` op reads the element of its tile at the current point of the elementwise loop, rather
/// than a neighbor. A tile that is read at other points has an axis that the loop does not have.
bool ReadsOwnPoints(const ir::Op* elementwise, const ir::Op* element);

/// Describes how the body of an elementwise loop behaves along the loop's last axis.
class LastAxis {
 public:
  /// With `by_steps`, accesses and elements of tiles that are a few elements apart, loads whose index grows by 1 every few points,
  /// scans of integers along the axis, and the stores of an `append` are vectors, too. The ops in `staying` stay in the loop over the axis.
  explicit LastAxis(const ir::Op* elementwise, bool by_steps = false,
                    std::unordered_set<const ir::Op*> staying = {});

  /// Returns the axis of the body's scans, if it has any.
  std::optional<ir::AxisId> scan_axis() const { return scan_axis_; }
  /// Whether the body can run on vectors of several elements.
  bool Vectorizes() const { return !scattered_ && across_.empty() && gathered_.empty(); }
  /// Whether the body can run on vectors if the loads or stores in `Across()` are transposed. Each of these
  /// goes from row to row along the last axis and is contiguous along a different axis, which is the same for
  /// all of them. If the body has scans, that is the axis of the scans.
  bool Transposes() const { return !scattered_ && !across_.empty() && gathered_.empty(); }
  /// Returns why the body can run neither on vectors nor transposed; empty if it can.
  const std::vector<Obstacle>& Obstacles() const { return obstacles_; }
  const std::vector<const ir::Op*>& Across() const { return across_; }
  /// Whether the body could run on vectors if it did not have the loads in `Gathered()`. Their elements are
  /// neither adjacent nor in adjacent rows.
  bool Gathers() const { return !scattered_ && across_.empty() && !gathered_.empty(); }
  const std::vector<const ir::Op*>& Gathered() const { return gathered_; }
  /// The position, among the elementwise loop's axes, of the axis along which the accesses in `Across()` are
  /// contiguous.
  size_t across_axis() const { return across_axis_; }

  /// Returns the group of accesses or results to which the op belongs, or null if it is in none.
  const StepGroup* StepGroupOf(const ir::Op* op) const;
  const std::vector<StepGroup>& step_groups() const { return step_groups_; }
  /// Returns after how many points the index of the load grows by 1, such as 2 for `x[%j / 2]`, of which adjacent
  /// points read the same element. Where the first of them is may differ from row to row.
  int64_t RepeatsOf(const ir::Op* load) const {
    auto found = repeats_.find(load);
    return found == repeats_.end() ? 1 : found->second;
  }
  /// Returns the largest of these numbers of points.
  int64_t MostRepeats() const;

  /// Whether the value is the same for all elements along the axis.
  bool IsUniform(const ir::Value* value) const {
    return value != point_ && !varying_.contains(value);
  }
  /// Returns how much the value changes from one point to the next along the axis. Returns nothing if it is not
  /// a sum of the index along the axis and values that do not vary.
  std::optional<int64_t> StepOf(const ir::Value* value) const;
  /// Whether the op can be moved before the loop over the axis.
  bool IsInvariant(const ir::Op* op) const { return !staying_.contains(op); }
  /// Returns the axis of its tile along which an `element` op moves if the loop moves along its last axis, or
  /// nothing if it reads the same element.
  std::optional<ir::AxisId> MovesAlong(const ir::Op* element) const;
  /// Returns how far apart the elements are that an `element` op, which moves along an axis, reads at adjacent points.
  int64_t ElementStep(const ir::Op* element) const;
  /// Returns the size of the widest type in the body, which determines how many elements a vector has. Integers
  /// that the body computes count half, or not at all if only reductions use them.
  int64_t Bytes() const { return bytes_ ? bytes_ : 8; }
  /// Returns the size of the type of which a register contains a chunk. That is half of the widest type if results are
  /// narrower and shuffles dominate: two registers of wide numbers are then narrowed together.
  int64_t ChunkBytes(bool shuffles) const {
    bool narrows = shuffles && stored_bytes_ > 0 && 2 * stored_bytes_ <= Bytes();
    return narrows ? Bytes() / 2 : Bytes();
  }
  int64_t ChunkBytes() const { return ChunkBytes(!step_groups_.empty()); }

 private:
  bool MustStay(const ir::Op* op) const;
  void Study(const ir::Op* op);
  void StudyWhile(const ir::Op* op);
  void StudyScan(const ir::Op* op);
  bool PlacesAppended(const ir::Op* scan) const;
  bool IsAppended(const ir::Op* store) const;
  void StudyAccess(const ir::Op* op);
  void Scatter(const ir::Op* op, Obstacle::Kind why);
  Obstacle::Kind ObstacleOfAccess(const ir::Op* op) const;
  void StudyElement(const ir::Op* op);
  bool WalksRows(const ir::Op* op);
  bool WalksBySteps(const ir::Op* op);
  bool Repeats(const ir::Op* op);
  std::optional<Period> PeriodOf(const ir::Value* value) const;
  bool AllUniform(std::span<ir::Value* const> values) const;
  void Count(kdl::Scalar scalar);
  void CountComputed(const ir::Value* value);

  const ir::Op* elementwise_;
  const ir::Value* point_;
  ir::AxisId axis_;
  bool only_folds_;  ///< whether all results are those of reductions
  std::optional<ir::AxisId> scan_axis_;
  bool scattered_ = false;  ///< whether the body must run element by element
  std::vector<Obstacle> obstacles_;
  std::vector<const ir::Op*> across_;
  std::vector<const ir::Op*> gathered_;
  size_t across_axis_ = 0;
  bool by_steps_;
  std::vector<SteppedAccess> stepped_;
  std::vector<StepGroup> step_groups_;
  std::unordered_map<const ir::Op*, int64_t> repeats_;
  int64_t bytes_ = 0;
  int64_t stored_bytes_ = 0;  ///< the size of the widest type that is stored; 0 if nothing is
  struct Movement {
    ir::AxisId axis;
    int64_t step;
  };
  std::unordered_map<const ir::Op*, Movement> moving_;
  std::unordered_set<const ir::Value*> varying_;
  std::unordered_set<const ir::Op*> staying_;  ///< ops that stay in the loop over the axis
};

}  // namespace kdl::cpu
