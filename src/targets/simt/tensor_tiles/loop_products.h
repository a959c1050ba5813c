#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "targets/simt/facts.h"
#include "targets/simt/tensor_tiles/group_product.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// Returns whether the op is a product that a group of warps computes asynchronously (`wgmma`).
bool GroupMultiplies(const ir::Op* op);

/// If the loop does nothing but multiply tensor tiles, returns the product, otherwise null.
const ir::Op* TensorTileProductIn(const ir::Op* loop);

/// Returns whether workgroup memory has room for the product's result in addition to the product's tensor
/// tiles. A result in registers needs no room.
bool HasSumsInWorkgroupMemory(const SimtFacts& facts, WorkgroupTiles& tiles, const ir::Op* product);

/// Emits the code that follows an elementwise loop if matrix instructions read its results directly from
/// workgroup memory. The code sets the elements beyond the ends of blocks to zero, and makes all writes
/// visible to the instructions.
void FinishFactors(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* elementwise,
                   std::span<const ir::Value* const> made, int64_t threads);

/// Expands the `wgmma` products of a loop, and the fetches of their tensor tiles.
class LoopProducts {
 public:
  /// `scalars` maps old scalars and tensors to new ones.
  LoopProducts(ir::Builder& b, WorkgroupTiles& tiles, ir::ValueMap& scalars, const ir::Op* loop);

  const ir::Op* loop() const { return loop_; }
  /// Returns whether the tile, which the iteration loads, is a tensor tile.
  bool Fetches(const ir::Value* tile) const { return tensor_tiles_.contains(tile); }
  void Fetch(const ir::Value* tile);
  /// Emits a product of the iteration. `target` is the buffer for the product's result.
  void Multiply(const ir::Op* product, ir::Value* target);

  /// If the loop does nothing but multiply tensor tiles, all iterations add to the same registers. These functions
  /// emit the code before and after the loop. If the code after the loop needs the sums in `target`, which is in
  /// workgroup memory, threads load them from there and store them there.
  void Open(ir::Value* target);
  void Close(ir::Value* target);

 private:
  struct TensorTile {
    const ir::Op* product;
    size_t factor;
    ir::Value* buffer = nullptr;  ///< null until the tile has been fetched
  };

  StepFactor FactorAt(const ir::Op* product, size_t factor);
  bool MovesSums(const ir::Value* target) const { return registers_ && registers_ != target; }

  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  ir::ValueMap& scalars_;
  const ir::Op* loop_;
  std::unordered_map<const ir::Value*, TensorTile> tensor_tiles_;
  const ir::Op* only_;              ///< the product, if the loop does nothing else
  ir::Value* registers_ = nullptr;  ///< those of this product, if all iterations add to them
};

}  // namespace kdl::simt
