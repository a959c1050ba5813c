#pragma once

#include <functional>

#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// A worker's block of a product's result, as its map says: where it lies, and how it is fetched and put back. At the blocks'
/// ends some of its points are not there.
class ProductBlock {
 public:
  using Values = passes::Values;

  ProductBlock(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* op)
      : b_(b), tiles_(tiles), op_(op), map_(AxisMapOf(*op)) {}

  void PlaceFor(ir::Value* thread);
  int64_t threads() const { return ir::ThreadsOf(ir::MapOf(*op_)); }
  const ir::AxisDigits& DigitsOf(ir::AxisId axis) const { return map_.at(axis); }
  const ir::AxisList& axes() const { return op_->result()->type()->axes; }
  /// The worker's along an axis.
  const Values& PlacesAlong(ir::AxisId axis) const { return places_.at(axis); }
  ir::Value* IsInside(ir::AxisId axis, ir::Value* place);

  /// What the product adds to; of points that are not there, zeros.
  Values Load();
  void Store(const Values& values, ir::Value* target);

  /// Points that are side by side make a vector; 1: no such vectors come and go at once.
  int64_t Lanes() const;
  /// The same of vectors, where all points are there.
  Values LoadVectors();
  void StoreVectors(const Values& values, ir::Value* target);

 private:
  /// In the order of values; `lanes`: one of so many that are side by side.
  void AtPoints(const std::function<void(const Values& place)>& body, int64_t lanes = 1);
  ir::Value* AreInside(const Values& place);

  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  const ir::Op* op_;
  AxisMap map_;
  std::map<ir::AxisId, Values> places_;
};

}  // namespace kdl::simt
