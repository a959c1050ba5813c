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

/// Rewrites a kernel of tiles into one of workgroup buffers and loops, for lower-tiles-to-threads.
class WorkgroupExpander {
 public:
  WorkgroupExpander(ir::Module& module, ir::Function& kernel, const SimtFacts& facts,
                    int64_t threads);
  void ExpandKernel();

 private:
  Value* Scalar(Value* old) const {
    auto found = scalars_.find(old);
    KDL_CHECK(found != scalars_.end(), "'{}' is not a scalar yet", old->name().text());
    return found->second;
  }
  Values NewScalars(std::span<Value* const> old) const {
    Values values;
    for (Value* value : old) values.push_back(Scalar(value));
    return values;
  }

  const BlockFacts& Facts(const Op* at, AxisId axis) const { return tiles_.FactsAt(at, axis); }

  /// Emits an effect of code that all threads execute, in such a way that the effect happens only once.
  void Once(const std::function<void()>& effect) {
    in_elementwise_ ? effect() : OnFirstThread(b_, effect);
  }

  // lower_tiles_to_threads.cpp: blocks and ops
  void ExpandRegion(const ir::Region* region);
  void ExpandOp(Op* op);
  ElementAccess NewAccess(const Op* op) const;
  void ExpandStage(const Op* op);
  void ExpandPrint(const Op* op);

  // elementwise_loops.cpp: points of elementwise loops, rows of scans
  /// If the op may write its result directly to the buffer that the enclosing loop carries, returns that
  /// buffer, otherwise null. Nothing but the op itself, at its own points, may read the old elements after
  /// the op starts.
  Value* YieldTarget(const Op* op, const Value* result) const;
  /// Whether the op reads each element of the tile only at its own point.
  static bool ReadsOwnPointsOnly(const Op* op, const ir::Use& use);
  Value* ResultBuffer(const Op* op, const Value* result);
  void ExpandElementwiseLoop(const Op* op);
  /// Distributes the points to threads. They are distributed in groups of contiguous points if the blocks and
  /// the memory of the tensors permit, otherwise as single points.
  void DistributePoints(const Op* op, const AxisList& axes, const Values& buffers,
                        const WorkgroupTiles::Body& body);
  void ExpandCopies(const Op* op, const AxisList& axes, const Values& buffers,
                    const std::function<void()>& otherwise);
  /// Whether the elementwise loop does nothing but load a product's factors, a few elements for each thread.
  /// A thread then begins all of its loads before it awaits the first one.
  bool BringsFactor(const Op* elementwise, const AxisList& axes) const;
  /// Whether the elementwise loop accesses only registers.
  bool StaysInRegisters(const Op* elementwise) const;
  /// Emits `body` for all points, one after another.
  void InOrder(const Op* at, const AxisList& axes, const std::function<void(const Values&)>& body);
  void ExpandPoint(const Op* op, const AxisList& axes, const Values& place, const Values& buffers);
  /// Returns the values that the elementwise loop yields at the point.
  Values MakePoint(const Op* op, const AxisList& axes, const Values& place);
  void StorePoint(const Op* op, const AxisList& axes, const Values& place, const Values& made,
                  const Values& buffers);
  void ExpandElement(const Op* op);
  /// Expands a scan. One thread scans each row, that is, all elements along the scanned axis.
  void ExpandScan(const Op* op);
  void ScanRow(ir::ScanOp scan, AxisId walked, const AxisList& kept, const Values& place,
               const Values& buffers);

  // loops.cpp: loops and branches
  /// Whether only the loop uses the tile `init`, so that the loop can reuse the tile's buffer.
  static bool IsHandedOver(const Value* init, const Op* loop);
  void ExpandLoop(const Op* op);
  IterationMaker Iteration();
  /// Handles an op that loops over blocks, if it contains a loop around a product of tensor tiles that can
  /// continue from block to block. Emits the code before the blocks and returns that inner loop. Otherwise
  /// returns null.
  std::unique_ptr<TensorTileLoop> TensorTilesOfBlocks(const Op* op);
  /// Expands a region and returns the scalars that it yields. Copies the tiles that it yields to the buffers
  /// `tile_buffers`, as if all were copied at once.
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
  std::unordered_map<const Value*, Value*> places_;  ///< new index -> its place in its block
  IterationTensorTiles* iterations_ = nullptr;       ///< the tensor tiles of the enclosing loop
  TensorTileLoop* blocks_tensor_tiles_ = nullptr;
  bool in_elementwise_ = false;
  bool has_maps_ = false;  ///< whether any op has a thread layout
};

}  // namespace kdl::simt
