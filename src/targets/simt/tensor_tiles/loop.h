#pragma once

#include <array>
#include <vector>

#include "passes/pass_manager.h"
#include "targets/simt/facts.h"
#include "targets/simt/tensor_tiles/group_product.h"
#include "targets/simt/tensor_tiles/ring.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// If the loop contains a product whose factors are tensor tiles, returns the product, otherwise null.
const ir::Op* TensorTileProductIn(const ir::Op* loop);

/// Returns whether workgroup memory has room for the product's result in addition to the product's tensor
/// tiles. A result in registers needs no room.
bool HasSumsInWorkgroupMemory(const SimtFacts& facts, WorkgroupTiles& tiles, const ir::Op* product);

/// Expands the loop around a product whose factors are tensor tiles. The product adds to the buffer `acc`.
class TensorTileLoop {
 public:
  using Values = passes::Values;

  TensorTileLoop(const passes::PassContext& context, ir::Builder& b, WorkgroupTiles& tiles,
                 const ir::Op* product, IterationMaker iteration);

  /// Expands a loop that does not share mbarriers with a loop over blocks.
  void ExpandAlone(ir::Value* acc);

  /// Returns whether the loop can use the same mbarriers in all iterations of the loop `blocks`. If so,
  /// remembers `blocks`. In that case, the next block's first tensor tiles are copied while threads execute
  /// the code after the inner loop.
  bool GoesOnWith(const ir::Op* blocks);
  /// Emits the code before the loop over blocks.
  void BeginBlocks();
  /// Emits the loop inside the loop over blocks, followed by the copies of the next block's first tensor
  /// tiles.
  void ExpandInBlock(ir::Value* acc);
  /// Emits the code after the loop over blocks.
  void Close();

  const ir::Op* loop() const { return loop_; }

 private:
  void Open();
  void FirstIterations(ir::Value* before, bool waits);
  void BeginNextBlock(ir::Value* block, ir::Value* before, bool waits);
  void Iterations(ir::Value* before, ir::Value* acc);
  void Steps(ir::Value* thread, ir::Value* here, ir::Value* number, ir::Value* registers,
             ir::Value* acc);
  bool IsApart() const;
  void MmaWait(ir::Value* registers, int64_t ahead);
  void AtBlocks(const std::function<void(ProductBlock& block)>& body);
  StepFactor FactorAt(size_t factor, ir::Value* slot) const;
  bool HasAxis(size_t factor, ir::AxisId axis) const;
  void Enter(ir::Value* at);
  void Bring(ir::Value* at, ir::Value* number, bool waits);

  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  const ir::Op* product_;
  const ir::Op* loop_;
  IterationMaker iteration_;
  std::array<TensorTileRing, 2> rings_;
  SlotMbarriers mbarriers_;
  int64_t threads_;
  ir::Value* full_ = nullptr;
  ir::Value* empty_ = nullptr;
  ir::Value* lo_ = nullptr;
  ir::Value* hi_ = nullptr;
  ir::Value* step_ = nullptr;
  const ir::Op* blocks_ = nullptr;  ///< the loop over blocks that shares the mbarriers, or null
  /// The ops that compute the locations of a block's tensor tiles.
  std::vector<ir::Op*> of_block_;
  /// The lower bound of the loop over blocks.
  ir::Value* first_ = nullptr;
  /// The upper bound of the loop over blocks.
  ir::Value* end_ = nullptr;
  /// The step of the loop over blocks.
  ir::Value* apart_ = nullptr;
  ir::Value* iterations_ = nullptr;  ///< the number of iterations of the inner loop, in each block
};

}  // namespace kdl::simt
