#pragma once

#include <span>
#include <vector>

#include "targets/simt/tensor_tiles/group_product.h"
#include "targets/simt/tensor_tiles/ring.h"

namespace kdl::simt {

/// Returns whether the op is a product that a group of warps computes asynchronously (`wgmma`).
bool GroupMultiplies(const ir::Op* op);

/// Emits the code that follows an elementwise loop if matrix instructions read its results directly from
/// workgroup memory. The code sets the elements beyond the ends of blocks to zero, and makes all writes
/// visible to the instructions.
void FinishFactors(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* elementwise,
                   std::span<const ir::Value* const> made, int64_t threads);

/// The tensor tiles that the iterations of a loop copy ahead of time for `wgmma` products. The loop also
/// contains other ops, as in attention.
class IterationTensorTiles {
 public:
  using Values = passes::Values;

  IterationTensorTiles(ir::Builder& b, WorkgroupTiles& tiles, int64_t workgroup_bytes,
                       const ir::Op* loop, IterationMaker iteration);

  const ir::Op* loop() const { return loop_; }
  bool empty() const { return tensor_tiles_.empty(); }
  /// Returns whether a tile that the iteration loads is fetched by a tile copy.
  bool Brings(const ir::Value* tile) const;
  /// Emits the code before the loop, which initializes mbarriers and begins the copies for the first
  /// iterations.
  void Open();
  /// Emits the start of the iteration with index `at`, which begins the copies for a later iteration.
  void BeginIteration(ir::Value* at);
  /// Emits a product of the iteration. `target` is the buffer for the product's result.
  void Multiply(const ir::Op* product, ir::Value* target);
  /// Emits the code after the loop, which invalidates the mbarriers.
  void Close();

 private:
  struct TensorTile {
    const ir::Op* product;
    size_t factor;
    TensorTileRing ring;
    int64_t threads;
    /// The ops of the iteration that compute the location of the tile.
    std::vector<ir::Op*> needed;
    ir::Value* full = nullptr;
    ir::Value* empty = nullptr;
  };

  void Find();
  TensorTile* FindTensorTile(const ir::Op* product, size_t factor);
  void Bring(TensorTile& tensor_tile, ir::Value* at, ir::Value* number, ir::Value* present);
  StepFactor FactorAt(const ir::Op* product, size_t factor);

  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  const ir::Op* loop_;
  IterationMaker iteration_;
  SlotMbarriers mbarriers_;
  std::vector<TensorTile> tensor_tiles_;
  ir::Value* lo_ = nullptr;
  ir::Value* hi_ = nullptr;
  ir::Value* step_ = nullptr;
  ir::Value* number_ = nullptr;  ///< the number of the iteration that is being expanded
};

}  // namespace kdl::simt
