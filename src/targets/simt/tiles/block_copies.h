#pragma once

#include <functional>

#include "ir/builder.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// Brings tiles of a tensor to the team's memory and back by block copies, which the first worker begins. A tile that does not
/// lie there as in the tensor comes and goes through a buffer that does.
class BlockCopies {
 public:
  using Values = passes::Values;
  /// The new scalar or tensor of an old one.
  using NewOf = std::function<ir::Value*(ir::Value* old)>;

  BlockCopies(ir::Builder& b, const ir::Function& kernel, WorkgroupTiles& tiles, NewOf new_of)
      : b_(b), kernel_(kernel), tiles_(tiles), new_of_(std::move(new_of)) {}

  void Load(const ir::Op* op);
  void Store(const ir::Op* op);

 private:
  struct TensorTile;
  using CopyMaker = std::function<void(const Values& index, const Values& place,
                                       const Values& sizes, const ir::NumberList& along)>;

  ir::Value* NewRows(const ir::Value* tile, const ir::AxisList& axes);
  ir::Value* LoadRow(const TensorTile& tensor_tile, const ir::Value* tile, const Values& place);
  /// In copies of two dimensions at most, and of one where the elements of rows lie apart.
  void Copy(const TensorTile& tensor_tile, const CopyMaker& make);
  /// Of an index operand its value where the box's first axes are at the places `outer`.
  ir::Value* IndexAt(const TensorTile& tensor_tile, ir::Value* operand, const Values& outer);

  ir::Builder& b_;
  const ir::Function& kernel_;
  WorkgroupTiles& tiles_;
  NewOf new_of_;
};

}  // namespace kdl::simt
