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
/// computed once, at the start of a launch.
class AlignedRows {
 public:
  explicit AlignedRows(ir::Builder& b) : b_(b) {}

  ir::Value* AreAligned(ir::Value* tensor, int64_t lanes);

 private:
  ir::Value* Find(ir::Value* tensor, int64_t lanes);

  ir::Builder& b_;
  /// Only for parameters of the kernel.
  std::map<std::pair<const ir::Value*, int64_t>, ir::Value*> known_;
};

/// Expands the ops of an elementwise loop point by point.
struct PointMaker {
  ir::ValueMap& scalars;  ///< old scalar -> new, at the current point
  /// New index -> its place in its block.
  std::unordered_map<const ir::Value*, ir::Value*>& places;
  std::function<void(ir::Op*)> expand;
};

/// Groups of points of an elementwise loop that are contiguous along its last axis. One thread computes such
/// a group, which has as many points as one access can move, if there are enough groups for all threads.
/// Contiguous loads and stores become vector accesses; everything else is done point by point. Loops that are
/// the same for all points of a group become one loop, and so do loops of four neighbouring lanes of a
/// reduction.
///
/// The block must consist of whole groups. Unless the machine accepts vectors anywhere, each row of each
/// tensor must also begin at a multiple of the group. This is the only source of vector accesses to tensors.
class SidePoints {
 public:
  using Values = passes::Values;

  SidePoints(const SimtFacts& facts, ir::Builder& b, WorkgroupTiles& tiles, AlignedRows& rows,
             const ir::Op* elementwise, PointMaker maker);

  /// The number of points in a group; 1: there are no groups.
  int64_t count() const { return count_; }
  /// Whether the actual block permits groups: it consists of whole groups, and each of them is aligned in
  /// every tensor.
  ir::Value* Fits();
  /// Computes the group that begins at the place. Returns, for each value that the elementwise loop yields,
  /// its values at all points.
  std::vector<Values> Make(const Values& place);
  /// Stores a tile's values for a group.
  void Store(const Values& values, const ir::Value* tile, ir::Value* buffer, const Values& place);

 private:
  /// An index that advances with the points of a group: at the first point, its distance from the start of a
  /// block of the axis.
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
  int64_t bytes_ = 0;  ///< bytes of the largest element in a vector access
  int64_t count_ = 1;
  std::unordered_set<const ir::Value*> varying_;  ///< old values that may differ between points
  std::unordered_map<const ir::Value*, Along> along_;
  /// Loops that begin at a point, relative to the start of a block, and end at the end of that block.
  std::vector<std::pair<const ir::Op*, const ir::Value*>> begins_;
  std::vector<const ir::Op*> global_;  ///< loads and stores that become vector accesses
  std::unordered_map<const ir::Value*, Values> made_;  ///< old value -> its values at the points
};

}  // namespace kdl::simt
