#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "targets/simt/facts.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// Determines whether all rows of a tensor begin at a multiple of some number of elements. Such facts are
/// computed only once, at the start of a launch.
class AlignedRows {
 public:
  explicit AlignedRows(ir::Builder& b) : b_(b) {}

  ir::Value* AreAligned(ir::Value* tensor, int64_t lanes);

 private:
  ir::Value* Find(ir::Value* tensor, int64_t lanes);

  ir::Builder& b_;
  /// The known facts. Only parameters of the kernel have entries.
  std::map<std::pair<const ir::Value*, int64_t>, ir::Value*> known_;
};

/// The state for expanding the ops of an elementwise loop point by point.
struct PointMaker {
  ir::ValueMap& scalars;  ///< old scalar -> new, at the current point
  /// A new index -> its place in its block.
  std::unordered_map<const ir::Value*, ir::Value*>& places;
  std::function<void(ir::Op*)> expand;
};

/// Groups of points of an elementwise loop that are contiguous along the loop's last axis. If there are
/// enough groups for all threads, one thread computes each group. A group has as many points as one access
/// can move. Contiguous loads and stores become vector accesses; everything else is done point by point.
/// Loops that are the same for all points of a group become one loop, and so do the loops of four adjacent
/// lanes of a reduction.
///
/// The block must consist of whole groups. Unless the machine accepts vectors at any address, each row of
/// each tensor must also begin at a multiple of the group's size. This class is the only source of vector
/// accesses to tensors.
class SidePoints {
 public:
  using Values = passes::Values;

  SidePoints(const SimtFacts& facts, ir::Builder& b, WorkgroupTiles& tiles, AlignedRows& rows,
             const ir::Op* elementwise, PointMaker maker);

  /// The number of points in a group; 1 if there are no groups.
  int64_t count() const { return count_; }
  /// Emits the condition that the actual block permits groups: it consists of whole groups, and each group is
  /// aligned in every tensor.
  ir::Value* Fits();
  /// Computes the group that begins at the place. Returns, for each value that the elementwise loop yields,
  /// that value at all points of the group.
  std::vector<Values> Make(const Values& place);
  /// Stores the values of a tile for a group.
  void Store(const Values& values, const ir::Value* tile, ir::Value* buffer, const Values& place);

 private:
  /// An index that advances with the points of a group. `place` is the distance of the index at the first
  /// point from the start of a block of `axis`.
  struct Along {
    ir::AxisId axis;
    ir::Value* place = nullptr;
  };

  void Study(const ir::Region* region);
  bool StudyOp(const ir::Op* op);
  bool StudyLoop(const ir::Op* loop);
  bool StudyAccess(const ir::Op* access);
  bool UsesElements(const ir::Op* element) const;
  bool IsSame(const ir::Value* value) const { return !varying_.contains(value); }
  int64_t BestCount(int64_t threads) const;
  bool LiesInRows(const ir::Value* tile) const;

  void SetCurrent(const ir::Op* op, size_t point);
  void ExpandRegion(const ir::Region* region);
  void ExpandPointOp(ir::Op* op);
  void ExpandPointLoop(const ir::Op* loop);
  void Load(const ir::Op* op);
  void Elements(const ir::Op* op);
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
  int64_t bytes_ = 0;  ///< the size of the largest element in a vector access
  int64_t count_ = 1;
  std::unordered_set<const ir::Value*> varying_;  ///< old values that may differ between points
  std::unordered_map<const ir::Value*, Along> along_;
  /// Loops that begin at the start of a block plus a point, and end at the end of that block.
  std::vector<std::pair<const ir::Op*, const ir::Value*>> begins_;
  std::vector<const ir::Op*> global_;  ///< loads and stores that become vector accesses
  std::unordered_map<const ir::Value*, Values> made_;  ///< old value -> its values at the points
};

}  // namespace kdl::simt
