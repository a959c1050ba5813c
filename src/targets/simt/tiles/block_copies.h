#pragma once

#include <functional>

#include "ir/builder.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// Moves tiles between tensors and workgroup memory with asynchronous copies, which the first thread begins. If the
/// axes of a tile have a different order in workgroup memory than in the tensor, the tile is copied through a
/// buffer with the tensor's order.
class BlockCopies {
 public:
  using Values = passes::Values;
  /// Returns the new scalar or tensor that replaces an old one.
  using NewOf = std::function<ir::Value*(ir::Value* old)>;

  BlockCopies(ir::Builder& b, const ir::Function& kernel, WorkgroupTiles& tiles, NewOf new_of)
      : b_(b), kernel_(kernel), tiles_(tiles), new_of_(std::move(new_of)) {}

  void Load(const ir::Op* op);
  void Store(const ir::Op* op);

 private:
  struct TensorTile;

  ir::Value* NewRows(const ir::Value* tile, const ir::AxisList& axes);
  ir::Value* LoadRow(const TensorTile& tensor_tile, const ir::Value* tile, const Values& place);
  /// Emits copies that have at most two dimensions, or one dimension if the elements of a row are not
  /// contiguous. Calls `after_each` after each of them.
  void Copy(const TensorTile& tensor_tile, ir::Value* from, ir::Value* to,
            const std::function<void()>& after_each);
  /// Returns the value of an index operand at the offsets `outer` along the outermost axes.
  ir::Value* IndexAt(const TensorTile& tensor_tile, ir::Value* operand, const Values& outer);

  ir::Builder& b_;
  const ir::Function& kernel_;
  WorkgroupTiles& tiles_;
  NewOf new_of_;
};

}  // namespace kdl::simt
