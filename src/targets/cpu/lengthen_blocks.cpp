#include <algorithm>
#include <set>

#include "ir/op_info.h"
#include "passes/rewriting/block_loops.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/analysis/steps.h"
#include "targets/cpu/passes.h"
#include "targets/cpu/tile_selector.h"
#include "targets/cpu/unroll_windows.h"
#include "targets/cpu/walks.h"

// lengthen-blocks: gives blocks along contiguous memory a larger extent if no result depends on it and no tile becomes
// larger. Each row of a block has a fixed cost, such as a mispredicted branch and the borders of a stencil.
//
//   axis j = N by 256   ->   axis j = N by 2048
//
// This only applies if the body of the spmd becomes a single elementwise loop, which needs no memory for tiles. The pass
// distribute-blocks shortens the blocks again if there would be too few of them for all cores.

namespace kdl::cpu {

namespace {

/// How the accesses of an spmd use the axis of a block.
struct AxisUse {
  bool is_contiguous =
      false;  ///< whether it goes along adjacent elements, or short rows, of some tensor
  bool is_strided = false;  ///< whether it goes from one row to the next in any other tensor
};

/// Returns the number of elements between those of adjacent indices of the dimension, or a large number if it is unknown.
int64_t StrideOf(ir::Type tensor, size_t dimension) {
  constexpr int64_t kMany = 1 << 20;
  int64_t stride = 1;
  for (size_t d = dimension + 1; d < tensor->dims.size(); ++d) {
    if (!IsConstant(tensor->dims[d])) return kMany;
    stride = std::min(stride * std::min(tensor->dims[d]->value, kMany), kMany);
  }
  return stride;
}

AxisUse UseOf(const Op* spmd, AxisId axis) {
  AxisUse use;
  ir::Walk(spmd->region(), [&](const Op* op) {
    if (!op->HasAttr(AttrKey::Access)) return;
    const ir::Access access = op->attr<AttrKey::Access>();
    for (size_t d = 0; d < access.dims.size(); ++d) {
      bool is_dense = StrideOf(TensorOf(op)->type(), d) <= kLargestStep;
      for (const ir::AccessTerm& term : access.dims[d].terms) {
        if (!Contains(IndexOf(op)[term.operand]->type()->axes, axis)) continue;
        (is_dense ? use.is_contiguous : use.is_strided) = true;
      }
    }
  });
  return use;
}

/// Returns the size of the widest elements that the spmd loads or stores.
int64_t AccessedBytes(const Op* spmd) {
  int64_t bytes = 1;
  ir::Walk(spmd->region(), [&](const Op* op) {
    if (!op->HasAttr(AttrKey::Access)) return;
    bytes = std::max<int64_t>(bytes, Bytes(TensorOf(op)->type()->scalar));
  });
  return bytes;
}

/// Whether the whole body becomes one elementwise loop: it has no loops and no reductions except over small windows,
/// and no load must stay before a store.
bool BecomesOneLoop(const PassContext& context, const Op* spmd) {
  std::set<const Value*> loaded;
  std::set<const Value*> stored;
  for (const Op* op : *spmd->region()) {
    switch (op->kind()) {
      case OpKind::Load:
        loaded.insert(TensorOf(op));
        break;
      case OpKind::Store:
        stored.insert(TensorOf(op));
        break;
      case OpKind::Reduce:
      case OpKind::Contraction:
        if (!IsUnrolled(context, op)) return false;
        break;
      case OpKind::Yield:
        break;
      case OpKind::SlidingWindow:  // reads a tile that is in memory
        return false;
      default:
        if (!op->info().has(ir::kPure) && !op->info().is_computed()) return false;
    }
  }
  return std::ranges::none_of(stored, [&](const Value* tensor) { return loaded.contains(tensor); });
}

/// Whether blocks of only this spmd have the axis.
bool IsOwnAxis(const ir::Function& kernel, const Value* binder) {
  bool is_own = true;
  ir::Walk(kernel.body, [&](const Op* op) {
    for (const ir::Region* region : op->regions()) {
      for (const Value* param : region->params()) {
        bool has = Contains(param->type()->axes, binder->type()->axes[0]);
        is_own = is_own && (param == binder || !has);
      }
    }
  });
  return is_own;
}

}  // namespace

void RunLengthenBlocks(PassContext& context, ir::Function& kernel) {
  for (const Op* spmd : OpsOfKind(kernel, OpKind::Spmd)) {
    bool is_static = spmd->attr<AttrKey::Distribute>() == ir::DistributionKind::Static;
    if (!is_static || spmd->HasAttr(AttrKey::Domain) || !BecomesOneLoop(context, spmd)) continue;
    const std::vector<Value*>& binders = spmd->region()->params();
    int64_t most = LongestRunBytes(binders.size() > 1) / AccessedBytes(spmd);
    for (const Value* binder : binders) {
      if (!IsFree(kernel, binder) || BlockExtent(kernel, binder) >= most) continue;
      if (!IsOwnAxis(kernel, binder)) continue;
      AxisId axis = binder->type()->axes[0];
      AxisUse use = UseOf(spmd, axis);
      if (use.is_contiguous && !use.is_strided)
        kernel.axes[axis.value].extent = context.module.types().sizes().Constant(most);
    }
  }
}

}  // namespace kdl::cpu
