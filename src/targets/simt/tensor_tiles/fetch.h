#pragma once

#include "targets/simt/analysis/tensor_tile_factors.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// Fetches one factor of a product into workgroup memory. Normally, a tile copy fetches the whole tile. If the
/// tensor's memory layout, or a range that ends before the tensor does, makes that impossible, threads copy the
/// tile's elements.
class TensorTileFetch {
 public:
  using Values = passes::Values;

  /// `scalars` maps old scalars and tensors to new ones.
  TensorTileFetch(ir::Builder& b, WorkgroupTiles& tiles, ir::ValueMap& scalars,
                  const ir::Op* product, size_t factor);

  /// Emits the fetch, and returns the buffer: one slot, in panels. The blocks and scalars in scope must be those
  /// of the iteration that needs the tile.
  ir::Value* Emit();

 private:
  ir::Value* Fits();
  void CopyTile();
  void CopyElements();
  ir::Value* ElementAt(ir::Value* row, ir::Value* column);
  Values StartPoint();
  Values IndexAt(const Values& point);
  ir::Value* Scalar(const ir::Value* old) const;
  ir::Value* Tensor() const;
  ir::Attr Along() const;
  kdl::Scalar scalar() const;

  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  ir::ValueMap& scalars_;
  const ir::Op* product_;
  ir::Value* factor_;
  TensorTileFactor tensor_tile_;
  ir::Value* buffer_ = nullptr;
};

}  // namespace kdl::simt
