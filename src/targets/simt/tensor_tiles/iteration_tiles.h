#pragma once

#include <span>
#include <vector>

#include "targets/simt/tensor_tiles/group_product.h"
#include "targets/simt/tensor_tiles/ring.h"

namespace kdl::simt {

/// Whether the op is a product that a group of workers does while they go on.
bool GroupMultiplies(const ir::Op* op);

/// Behind a elementwise loop: of the tiles that it has made those that a unit reads by itself have zeros after the blocks' ends, and are shown.
void FinishFactors(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* elementwise,
                   std::span<const ir::Value* const> made, int64_t threads);

/// The boxes that turns of a loop begin ahead, for products of groups of workers, where the turn does more than those.
class IterationTensorTiles {
 public:
  using Values = passes::Values;

  IterationTensorTiles(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* loop,
                       IterationMaker iteration);

  const ir::Op* loop() const { return loop_; }
  bool empty() const { return tensor_tiles_.empty(); }
  /// Whether the tile, which the turn loads, comes as a box.
  bool Brings(const ir::Value* tile) const;
  /// Before the loop: opens gates, and begins what the first turns need.
  void Open();
  /// First in the turn that begins at `at`: begins what a later one needs.
  void BeginIteration(ir::Value* at);
  /// In the turn: what the product takes of it and of what workers have made. `target`: the buffer that the result gets.
  void Multiply(const ir::Op* product, ir::Value* target);
  /// Behind the loop.
  void Close();

 private:
  struct TensorTile {
    const ir::Op* product;
    size_t factor;
    TensorTileRing ring;
    int64_t threads;
    std::vector<ir::Op*> needed;  ///< of the turn, to tell where the box is
    ir::Value* full = nullptr;
    ir::Value* empty = nullptr;
  };

  void Find();
  TensorTile* TensorTileOf(const ir::Op* product, size_t factor);
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
  ir::Value* number_ = nullptr;  ///< of the turn that is expanded
};

}  // namespace kdl::simt
