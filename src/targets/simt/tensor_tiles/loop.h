#pragma once

#include <array>
#include <vector>

#include "targets/simt/facts.h"
#include "targets/simt/tensor_tiles/group_product.h"
#include "targets/simt/tensor_tiles/ring.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// The product of a loop whose factors come as boxes; null: it has none.
const ir::Op* TensorTileProductIn(const ir::Op* loop);

/// Whether near memory has room for what the product makes, where that is no registers', next to the product's boxes.
bool HasSumsInWorkgroupMemory(const SimtFacts& facts, WorkgroupTiles& tiles, const ir::Op* product);

/// The loop around a product of boxes, which adds to what lies in `acc`.
class TensorTileLoop {
 public:
  using Values = passes::Values;

  TensorTileLoop(const SimtFacts& facts, ir::Builder& b, WorkgroupTiles& tiles,
                 const ir::Op* product, IterationMaker iteration);

  /// Expands the loop alone.
  void Run(ir::Value* acc);

  /// Whether the loop's gates may stay open from one block of `blocks` to the next one, whose first boxes then come while workers
  /// are busy with what is after the loop.
  bool GoesOnWith(const ir::Op* blocks);
  /// Before the blocks.
  void BeginBlocks();
  /// Where the loop is; the next block's first boxes after it.
  void RunInBlock(ir::Value* acc);
  /// Behind the blocks.
  void Close();

  const ir::Op* loop() const { return loop_; }

 private:
  void Open();
  void FirstIterations(ir::Value* before, bool waits);
  void FirstIterationsOf(ir::Value* block, ir::Value* before, bool waits);
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
  const ir::Op* blocks_ = nullptr;  ///< with which it goes on; null: it is alone
  std::vector<ir::Op*> of_block_;   ///< what tells where a block's boxes are
  ir::Value* first_ = nullptr;      ///< block
  ir::Value* end_ = nullptr;
  ir::Value* apart_ = nullptr;
  ir::Value* iterations_ = nullptr;  ///< of each block
};

}  // namespace kdl::simt
