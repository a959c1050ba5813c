#pragma once

#include <functional>

#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// A thread's block of a product's result, as given by the product's thread layout. Computes where the
/// thread's points are, and loads and stores their elements. At the ends of blocks, some of the points do not
/// exist.
class ProductBlock {
 public:
  using Values = passes::Values;

  ProductBlock(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* op)
      : b_(b), tiles_(tiles), op_(op), map_(AxisMapOf(*op)) {}

  void PlaceFor(ir::Value* thread);
  int64_t threads() const { return ir::ThreadsOf(ir::MapOf(*op_)); }
  const ir::AxisDigits& DigitsOf(ir::AxisId axis) const { return map_.at(axis); }
  const ir::AxisList& axes() const { return op_->result()->type()->axes; }
  /// Returns the offsets of the thread's points along an axis.
  const Values& PlacesAlong(ir::AxisId axis) const { return places_.at(axis); }
  ir::Value* IsInside(ir::AxisId axis, ir::Value* place);

  /// Loads the thread's elements of the tile to which the product is added (the op's operand `into`). For
  /// points that do not exist, the values are zeros.
  Values Load();
  void Store(const Values& values, ir::Value* target);

  /// Returns how many contiguous points form a vector, or 1 if the points cannot be loaded and stored as
  /// vectors.
  int64_t Lanes() const;
  /// Like `Load`, but returns vectors. All points must exist.
  Values LoadVectors();
  void StoreVectors(const Values& values, ir::Value* target);

 private:
  /// Calls `body` for the first of each `lanes` contiguous points, in the order in which `Load` returns their
  /// values.
  void AtPoints(const std::function<void(const Values& place)>& body, int64_t lanes = 1);
  ir::Value* AreInside(const Values& place);

  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  const ir::Op* op_;
  AxisMap map_;
  std::map<ir::AxisId, Values> places_;
};

}  // namespace kdl::simt
