#pragma once

#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/views.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"
#include "targets/simt/tensor_tiles/iteration_tiles.h"
#include "targets/simt/tensor_tiles/loop.h"
#include "targets/simt/tiles/block_copies.h"
#include "targets/simt/tiles/factor_copies.h"
#include "targets/simt/tiles/side_points.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// A kernel of tiles, written anew as one of a team's buffers and loops: what lower-tiles-to-threads does.
class WorkgroupExpander {
 public:
  WorkgroupExpander(ir::Module& module, ir::Function& kernel, const SimtFacts& facts,
                    int64_t threads);
  void Run();

 private:
  Value* Scalar(Value* old) const {
    auto found = scalars_.find(old);
    KDL_CHECK(found != scalars_.end(), "'{}' is no scalar yet", old->name().text());
    return found->second;
  }
  Values ScalarsOf(std::span<Value* const> old) const {
    Values values;
    for (Value* value : old) values.push_back(Scalar(value));
    return values;
  }

  const BlockFacts& Facts(const Op* at, AxisId axis) const { return tiles_.FactsAt(at, axis); }

  /// Effects of what all workers compute alike happen once.
  void Once(const std::function<void()>& effect) {
    in_elementwise_ ? effect() : OnFirstThread(b_, effect);
  }

  // lower_tiles_to_threads.cpp: blocks and ops
  void ExpandRegion(const ir::Region* region);
  void ExpandOp(Op* op);
  ElementAccess AccessOf(const Op* op) const;
  void ExpandStage(const Op* op);
  void ExpandPrint(const Op* op);

  // elementwise loops.cpp: points of elementwise loops, rows of scans
  /// The buffer of what the op yields to the loop around, where that is free: nothing needs what stands there, but the op
  /// itself at its own points.
  Value* YieldTarget(const Op* op, const Value* result) const;
  /// Whether the op takes each element of the tile for its own point only.
  static bool ReadsOwnPointsOnly(const Op* op, const ir::Use& use);
  Value* BufferOf(const Op* op, const Value* result);
  void ExpandElementwiseLoop(const Op* op);
  /// Several that are side by side to a worker where the blocks and the tensors' memory allow it, else one by one.
  void DistributePoints(const Op* op, const AxisList& axes, const Values& buffers,
                        const WorkgroupTiles::Body& body);
  void ExpandCopies(const Op* op, const AxisList& axes, const Values& buffers,
                    const std::function<void()>& otherwise);
  /// Whether the elementwise loop does nothing but load a product's factors, of which each worker has a few: then all of its loads are under
  /// way before the first one is waited for.
  bool BringsFactor(const Op* elementwise, const AxisList& axes) const;
  /// Whether the elementwise loop touches nothing but registers.
  bool StaysInRegisters(const Op* elementwise) const;
  /// All points, one after the other.
  void InOrder(const Op* at, const AxisList& axes, const std::function<void(const Values&)>& body);
  void ExpandPoint(const Op* op, const AxisList& axes, const Values& place, const Values& buffers);
  /// What the elementwise loop yields of the point.
  Values MakePoint(const Op* op, const AxisList& axes, const Values& place);
  void StorePoint(const Op* op, const AxisList& axes, const Values& place, const Values& made,
                  const Values& buffers);
  void ExpandElement(const Op* op);
  /// A row of the other axes is one worker's.
  void ExpandScan(const Op* op);
  void ScanRow(ir::ScanOp scan, AxisId walked, const AxisList& kept, const Values& place,
               const Values& buffers);

  // loops.cpp: loops and branches
  /// Whether the loop alone goes on with the tile.
  static bool IsHandedOver(const Value* init, const Op* loop);
  void ExpandLoop(const Op* op);
  IterationMaker Iteration();
  /// The loop around a product of boxes that goes on from block to block, begun; null: there is none in the op.
  std::unique_ptr<TensorTileLoop> TensorTilesOfBlocks(const Op* op);
  /// The scalars that a region yields; the tiles are copied to where they are wanted, all at once.
  Values ExpandRegion(const ir::Region* region, const std::vector<Value*>& tile_buffers);
  void ExpandIf(const Op* op);

  ir::Module& module_;
  ir::Function& kernel_;
  const SimtFacts& facts_;
  int64_t threads_;
  ir::Builder b_;
  ir::ValueMap scalars_;  ///< old scalar or tensor -> new
  WorkgroupTiles tiles_;
  AlignedRows rows_;
  FactorCopies factor_copies_;
  BlockCopies block_copies_;
  std::unordered_map<const Value*, Value*>
      places_;  ///< new index -> its distance from the block's start
  IterationTensorTiles* iterations_ = nullptr;  ///< of the loop around
  TensorTileLoop* blocks_tensor_tiles_ = nullptr;
  bool in_elementwise_ = false;
  bool has_maps_ = false;  ///< of products
};

}  // namespace kdl::simt
