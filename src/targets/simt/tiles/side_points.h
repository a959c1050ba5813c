#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "passes/rewriting/element_access.h"
#include "targets/simt/facts.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// The number of bytes that a thread should load before it uses any of them. With 2048 threads, a multiprocessor then has
/// 64 KiB in flight.
inline constexpr int64_t kBytesInFlight = 32;

/// Emits the condition that all rows of a tensor begin at a multiple of a given number of elements. If the
/// tensor is a parameter of the kernel, this condition is computed only once, at the start of the kernel.
class AlignedRows {
 public:
  explicit AlignedRows(ir::Builder& b) : b_(b) {}

  ir::Value* AreAligned(ir::Value* tensor, int64_t lanes);

 private:
  ir::Value* Find(ir::Value* tensor, int64_t lanes);

  ir::Builder& b_;
  /// The conditions that have been emitted, for parameters of the kernel.
  std::map<std::pair<const ir::Value*, int64_t>, ir::Value*> known_;
};

/// The offset of an index from the start of a block of the axis.
struct BlockOffset {
  ir::AxisId axis;
  ir::Value* offset;
};
/// The offsets of indices that are known to be in a block.
class BlockOffsets {
 public:
  void Set(const ir::Value* index, ir::AxisId axis, ir::Value* offset) {
    offsets_[index] = {axis, offset};
  }
  /// Returns the offset from the start of a block of the axis, or null if it is not known.
  ir::Value* Find(const ir::Value* index, ir::AxisId axis) const {
    auto found = offsets_.find(index);
    return found != offsets_.end() && found->second.axis == axis ? found->second.offset : nullptr;
  }

 private:
  std::unordered_map<const ir::Value*, BlockOffset> offsets_;
};

/// The state for expanding the ops of an elementwise loop, one point after another.
struct PointMaker {
  ir::ValueMap& scalars;  ///< maps old scalars to their new values at the current point
  BlockOffsets& places;   ///< of the new indices
  std::function<void(ir::Op*)> expand;
  /// Selects the registers of a group's point, in a loop whose points have a thread layout. Empty in other loops.
  std::function<void(size_t)> select = {};
};

/// Computes several contiguous points of an elementwise loop in one thread, so that loads and stores become
/// vector accesses. The points of a group are contiguous along the loop's last axis, and there are as many of
/// them as one access can move. Groups are used only if there are enough of them for all threads. Other ops
/// are expanded point by point. However, a loop that is the same for all points of a group becomes one loop,
/// and so do the loops of four adjacent lanes of a reduction.
///
/// The block must consist of whole groups. Unless the machine accepts vectors at any address, each row of
/// each tensor must also begin at a multiple of the group's size. Only this class creates vector accesses to
/// tensors.
///
/// A stencil loads neighbors of its points, and other values beyond the edges of a tensor. The neighbors of a group in the
/// row are the group itself and single elements next to it, so only these are checked along the row.
class SidePoints {
 public:
  using Values = passes::Values;

  /// If the loop's points have a thread layout, `side` is the number of its adjacent points of a thread, otherwise 0.
  SidePoints(const SimtFacts& facts, ir::Builder& b, WorkgroupTiles& tiles, AlignedRows& rows,
             const ir::Op* elementwise, PointMaker maker, int64_t side = 0);

  /// Returns the number of points in a group, or 1 if groups cannot be used.
  int64_t count() const { return count_; }
  /// Returns how many groups a thread should compute at once, so that its loads are in flight together.
  int64_t groups_at_once() const { return groups_at_once_; }
  /// Emits the condition that groups can be used at run time: the block consists of whole groups, and each
  /// group is aligned in every tensor.
  ir::Value* Fits();
  /// Emits the computation of the groups whose first points are at `places`. Loads of all groups come before what uses
  /// them. For each group, and each value that the elementwise loop yields, returns its values at all points of the
  /// group.
  std::vector<std::vector<Values>> Make(const std::vector<Values>& places);
  /// Stores the values of a group's points in the buffer of a tile.
  void Store(const Values& values, const ir::Value* tile, ir::Value* buffer, const Values& place);

 private:
  /// An index that increases by one from each point of a group to the next. `places` are the offsets of its
  /// first values from the start of a block of `axis`, one for each group.
  struct Along {
    ir::AxisId axis;
    Values places;
  };

  void Study(const ir::Region* region);
  void StudySum(const ir::Op* op);
  bool StudyOp(const ir::Op* op);
  std::pair<const ir::Value*, const ir::Value*> OwnBegin(const ir::Value* lo) const;
  bool StudyLoop(const ir::Op* loop);
  bool StudyAccess(const ir::Op* access);
  bool IsNeighbor(const ir::Op* load) const;
  ir::AccessDim AlignedRow(const ir::Op* access) const;
  bool ChecksTogether(const ir::Op* access) const;
  bool UsesElements(const ir::Op* element) const;
  ir::Value* GapOfBlocks(const ir::Op* element);
  bool IsSame(const ir::Value* value) const { return !varying_.contains(value); }
  bool HasAlignedRows(int64_t count) const;
  int64_t CountPoints() const;
  int64_t BestCount(int64_t threads) const;
  int64_t CountOfSide(int64_t side) const;
  void Select(size_t point) const;
  int64_t BestGroups(int64_t threads) const;
  size_t points() const { return static_cast<size_t>(count_) * groups_; }
  Values OfGroup(const Values& all, size_t group) const;
  void AddGrouped(const ir::Value* tile);
  bool LiesInRows(const ir::Value* tile) const;

  passes::ElementAccess AccessAt(const ir::Op* op, size_t group);
  void SetCurrent(const ir::Op* op, size_t point);
  void ExpandRegion(const ir::Region* region);
  void ExpandPointOp(ir::Op* op);
  void ExpandPointLoop(const ir::Op* loop);
  void Load(const ir::Op* op);
  void LoadNeighbors(const ir::Op* op);
  Values NeighborsOf(const ir::Op* op, size_t group);
  ir::Value* IsRowInside(const passes::ElementAccess& access);
  void Elements(const ir::Op* op);
  Values ElementsOf(const ir::Op* op, size_t group);
  void StoreGlobal(const ir::Op* op);
  Values Parts(ir::Value* vector);
  ir::Value* Plus(ir::Value* value, size_t number);
  Values AtAllPoints(const ir::Value* old) const;

  const SimtFacts& facts_;
  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  AlignedRows& rows_;
  const ir::Op* elementwise_;
  PointMaker maker_;
  ir::AxisId last_;
  const ir::Value* last_param_;
  bool fits_ = true;   ///< whether nothing in the elementwise loop prevents groups
  int64_t bytes_ = 0;  ///< the size in bytes of the largest element in a vector access
  int64_t count_ = 1;
  int64_t groups_at_once_ = 1;
  bool has_own_bounds_ = false;  ///< whether bounds of a loop may differ between groups
  size_t groups_ = 1;            ///< the number of groups that are being computed
  std::unordered_set<const ir::Value*> varying_;  ///< old values that may differ between points
  std::unordered_map<const ir::Value*, Along> along_;
  /// Sums of an index in `along_`, whose axis is given, and of a multiple of the size of any group.
  std::unordered_map<const ir::Value*, ir::AxisId> sums_;
  /// Loops that begin at the start of a block plus the point's index, and end at the end of the block.
  std::vector<std::pair<const ir::Op*, const ir::Value*>> begins_;
  std::vector<const ir::Value*> grouped_;  ///< tiles that are accessed in vectors
  std::vector<const ir::Op*> global_;      ///< loads and stores that become vector accesses
  std::vector<const ir::Op*> neighbors_;   ///< loads of the points' neighbors
  std::vector<const ir::Op*> elements_;    ///< `element` ops that become vector accesses
  std::unordered_map<const ir::Value*, Values>
      made_;  ///< each old value's values at all points of all groups
};

}  // namespace kdl::simt
