#include <algorithm>
#include <optional>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/own_blocks.h"
#include "targets/cpu/passes.h"

// split-few-lanes: gives products whose vectors run along the rows of their result a second version for
// launches with few rows, in which most lanes of these vectors would be empty. That is the case for attention:
// its scores are reduced over the keys in sequential order, so each query has a lane. In the second version,
// vectors run along the other axis of the product. Blocks have few rows, and minima and maxima, which do not
// depend on the order, are computed in 64 lanes.
//
//   spmd (%i: block<i> …)                   ->   if %L <= 8 { spmd (%i.1: block<i.few> …)
//   { for %j: block<j> … {                       { for %j.1: block<j.lanes> … {
//       contraction … : tile<i j>                    contraction … : tile<i.few j.lanes>
//       reduce max … over j                          reduce max … over j.lanes {order = lanes64}
//       reduce sum … over j                          reduce sum … over j.lanes
//       contraction … over j : tile<i e> } }         contraction … over j.lanes : tile<i.few e> } }
//                                                } else { spmd (%i: block<i> …) { … } }

namespace kdl::cpu {

namespace {

/// The products of an spmd.
struct RowLanes {
  std::optional<AxisId> rows;  ///< the axis of vectors
  size_t binder = 0;           ///< which of the spmd's induction variables is for rows
  AxisList others;  ///< the axes of vectors in the second version, which reductions reduce
};

class LaneFinder {
 public:
  LaneFinder(const ir::Function& kernel, const ProcessorFacts& facts, int64_t few)
      : kernel_{kernel, facts, AxisOrder(kernel)}, few_(few) {}

  /// Returns nothing if the spmd has no such product, or if one of its products needs another layout.
  std::optional<RowLanes> Find(const Op* spmd) const {
    if (spmd->HasAttr(AttrKey::Domain)) return std::nullopt;
    RowLanes found;
    for (const Op* op : OpsIn(spmd->region(), IsProduct)) {
      AxisList axes = kernel_.order.Sorted(op->result()->type()->axes);
      bool plain = op->attr<AttrKey::Order>() == ir::OrderKind::Sequential &&
                   !op->HasAttr(AttrKey::Instruction);
      if (!plain || axes.size() != 2) return std::nullopt;
      if (found.rows && *found.rows != axes[1]) return std::nullopt;
      found.rows = axes[1];
      bool is_new = !Contains(found.others, axes[0]);
      if (is_new && IsReduced(spmd, axes[0])) found.others.push_back(axes[0]);
    }
    if (!found.rows || found.others.empty()) return std::nullopt;
    std::optional<size_t> binder = FreeBinderOf(kernel_.function, spmd, *found.rows);
    if (!binder || !Suits(spmd, found)) return std::nullopt;
    found.binder = *binder;
    return found;
  }

 private:
  static bool IsProduct(const Op* op) { return op->kind() == OpKind::Contraction; }

  static bool IsReduced(const Op* spmd, AxisId axis) {
    auto reduces = [&](const Op* op) {
      bool folds = op->kind() == OpKind::Reduce || op->kind() == OpKind::Contraction;
      return folds && Contains(op->attr<AttrKey::Axes>(), axis);
    };
    return !OpsIn(spmd->region(), reduces).empty();
  }

  bool Suits(const Op* spmd, const RowLanes& found) const {
    if (kernel_.Extent(*found.rows) <= few_ || IsContiguous(*found.rows)) return false;
    return std::ranges::none_of(found.others,
                                [&](AxisId axis) { return IsMadeOutside(spmd, axis); });
  }

  /// Whether elements along the axis are contiguous in some tensor.
  bool IsContiguous(AxisId axis) const {
    bool contiguous = false;
    ir::Walk(kernel_.function.body, [&](const Op* op) {
      if (!op->HasAttr(AttrKey::Access)) return;
      const ir::Access access = op->attr<AttrKey::Access>();
      if (access.dims.empty()) return;
      for (const ir::AccessTerm& term : access.dims.back().terms) {
        ir::Type type = IndexOf(op)[term.operand]->type();
        contiguous |= type->kind == ir::TypeKind::Block && type->axes[0] == axis;
      }
    });
    return contiguous;
  }

  /// Whether the spmd uses a block or a tile with this axis that it does not make itself.
  static bool IsMadeOutside(const Op* spmd, AxisId axis) {
    bool outside = false;
    ir::Walk(spmd->region(), [&](const Op* op) {
      for (const Value* value : op->operands()) {
        if (Contains(value->type()->axes, axis)) outside |= !IsInside(value, spmd);
      }
    });
    return outside;
  }

  KernelShape kernel_;
  int64_t few_;
};

/// Finds minima and maxima over these axes in 64 lanes, which is faster. Their order cannot be observed.
void FindExtremaInLanes(Op* spmd, const AxisList& axes) {
  ir::Walk(spmd->region(), [&](Op* op) {
    if (op->kind() != OpKind::Reduce || op->attr<AttrKey::Axes>().size() != 1) return;
    auto reduction = op->attr<AttrKey::Reduction>();
    bool any_order = reduction == ir::ReductionKind::Max || reduction == ir::ReductionKind::Min;
    if (any_order && Contains(axes, op->attr<AttrKey::Axes>()[0]))
      op->SetAttr(ir::MakeAttr<AttrKey::Order>(ir::OrderKind::Lanes64));
  });
}

/// Gives the spmd a second version for at most `few` rows.
void Split(ir::Module& module, ir::Function& kernel, Op* spmd, const RowLanes& found, int64_t few) {
  Value* lo = spmd->operand(2 * found.binder);
  Value* hi = spmd->operand(2 * found.binder + 1);
  bool is_known = ConstantOf(lo) && ConstantOf(hi);
  if (is_known && *ConstantOf(hi) - *ConstantOf(lo) > few) return;
  OtherAxes others;
  AxisList lanes;
  others.Set(*found.rows, kernel.AddAxis(AxisLike(module, kernel, *found.rows, ".few", few)));
  for (AxisId axis : found.others) {
    ir::Axis like = AxisLike(module, kernel, axis, ".lanes", kernel.axis(axis).extent->value);
    like.innermost = true;
    lanes.push_back(kernel.AddAxis(like));
    others.Set(axis, lanes.back());
  }
  if (is_known) {
    others.Retype(module.types(), spmd);
    return FindExtremaInLanes(spmd, lanes);
  }
  ir::Builder b(module, spmd);
  Value* size = b.Sub(hi, lo);
  FindExtremaInLanes(SplitOff(b, spmd, b.Le(size, b.I64(few)), others), lanes);
}

}  // namespace

void RunSplitFewLanes(PassContext& context, ir::Function& kernel) {
  const ProcessorFacts& facts = ProcessorFactsOf(context);
  // Up to this number of rows, the lanes of vectors along the rows are empty, or as good as those of others.
  int64_t few = context.Value(kFewLanes);
  for (Op* spmd : OpsOfKind(kernel, OpKind::Spmd)) {
    std::optional<RowLanes> found = LaneFinder(kernel, facts, few).Find(spmd);
    if (found) Split(context.module, kernel, spmd, *found, few);
  }
}

}  // namespace kdl::cpu
