#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/views.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"
#include "targets/simt/tensor_tiles/loop_products.h"
#include "targets/simt/tiles/block_copies.h"
#include "targets/simt/tiles/factor_copies.h"
#include "targets/simt/tiles/side_points.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// Implements the pass lower-tiles-to-threads: rewrites a kernel that works on tiles into one that works on
/// workgroup buffers, with loops over threads.
class WorkgroupExpander {
 public:
  WorkgroupExpander(const passes::PassContext& context, ir::Function& kernel, int64_t threads);
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

  /// Emits a side effect so that it happens only once. Outside of elementwise loops, all threads execute the
  /// code, but only the first thread performs the effect.
  void Once(const std::function<void()>& effect) {
    in_elementwise_ ? effect() : OnFirstThread(b_, effect);
  }

  // Defined in lower_tiles_to_threads.cpp: blocks and ops.
  void ExpandRegion(const ir::Region* region);
  void ExpandOp(Op* op);
  ElementAccess NewAccess(const Op* op) const;
  /// Returns the access of a side effect that happens once. All threads check its indices: if only the first one trapped, the
  /// others would run on to the next barrier, which may be far away.
  ElementAccess EffectAccess(const Op* op);
  void ExpandStage(const Op* op);
  void ExpandPrint(const Op* op);

  // Defined in elementwise_loops.cpp: points of elementwise loops, rows of scans.
  /// If the op may write its result directly to the buffer that the enclosing loop carries, returns that
  /// buffer, otherwise null. After the op starts, only the op itself may read the old elements. At each point,
  /// it may read only the element at that point.
  Value* YieldTarget(const Op* op, const Value* result) const;
  /// Returns whether the op reads an element of the tile only to compute the result at the same point.
  static bool ReadsOwnPointsOnly(const Op* op, const ir::Use& use);
  Value* ResultBuffer(const Op* op, const Value* result);
  void ExpandElementwiseLoop(const Op* op);
  /// Distributes the points to threads: in groups of contiguous points if the sizes of the blocks and the
  /// alignment of the tensors permit that, otherwise as single points.
  void DistributePoints(const Op* op, const AxisList& axes, const Values& buffers,
                        const WorkgroupTiles::Body& body);
  PointMaker PointsOfGroups();
  /// Distributes the points by a thread layout: adjacent points of a thread in groups, as in `DistributePoints`.
  void DistributeMapped(const Op* op, const AxisList& axes, const AxisMap& map,
                        const Values& buffers, const WorkgroupTiles::Body& body);
  void ExpandCopies(const Op* op, const AxisList& axes, const Values& buffers,
                    const std::function<void()>& otherwise);
  /// Returns whether the elementwise loop does nothing but load a product's factors, a few elements for each
  /// thread. If so, a thread begins all of its loads before it waits for the first one.
  bool BringsFactor(const Op* elementwise, const AxisList& axes) const;
  /// Returns whether the elementwise loop accesses only registers.
  bool StaysInRegisters(const Op* elementwise) const;
  /// Emits sequential loops that execute `body` for all points.
  void InOrder(const Op* at, const AxisList& axes, const std::function<void(const Values&)>& body);
  void ExpandPoint(const Op* op, const AxisList& axes, const Values& place, const Values& buffers);
  /// Returns the values that the elementwise loop yields at a point.
  Values MakePoint(const Op* op, const AxisList& axes, const Values& place);
  void StorePoint(const Op* op, const AxisList& axes, const Values& place, const Values& made,
                  const Values& buffers);
  void ExpandElement(const Op* op);
  /// Expands a scan. One thread scans a whole row, that is, all elements along the scanned axis.
  void ExpandScan(const Op* op);
  void ScanRow(ir::ScanOp scan, AxisId walked, const AxisList& kept, const Values& place,
               const Values& buffers);

  // Defined in loops.cpp: loops and branches.
  /// Returns whether only the loop uses the tile `init`, so that the loop can reuse the tile's buffer.
  static bool IsHandedOver(const Value* init, const Op* loop);
  void ExpandLoop(const Op* op);
  /// Expands a region and returns the scalars that it yields. Copies the tiles that it yields to the buffers
  /// `tile_buffers`, as if all were copied at once.
  Values ExpandRegion(const ir::Region* region, const std::vector<Value*>& tile_buffers);
  void ExpandIf(const Op* op);

  ir::Module& module_;
  ir::Function& kernel_;
  const passes::PassContext& context_;
  const SimtFacts& facts_;
  int64_t threads_;
  ir::Builder b_;
  ir::ValueMap scalars_;  ///< maps old scalars and tensors to new ones
  WorkgroupTiles tiles_;
  AlignedRows rows_;
  FactorCopies factor_copies_;
  BlockCopies block_copies_;
  BlockOffsets places_;               ///< of the new indices of elementwise loops
  LoopProducts* products_ = nullptr;  ///< those of the enclosing loop
  bool in_elementwise_ = false;
  bool has_maps_ = false;  ///< whether any op has a thread layout
};

}  // namespace kdl::simt
