#include <algorithm>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/analysis/axis_order.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/analysis/row_fold.h"
#include "targets/cpu/passes.h"

// fuse-reductions: if an elementwise loop makes the operand of a reduction in 64-lane order (with 64 partial
// results), that operand need not become a tile. Each element is added to the accumulators as soon as the
// loop's body has computed it. This is possible if the reduction reads no other value that is made after the
// elementwise loop.
//
//   %t = elementwise (%p of %i, %q of %j) { … yield %e }
//   %s = reduce sum %t over j
//   ->
//   %s = elementwise (%p of %i, %q of %j) { … ; %f = reduce_in_loop sum %e over j ; yield %f }
//
// All reductions in an elementwise loop must reduce the same axes, which are the loop's last ones, and the
// loop's body must be able to run on vectors.

namespace kdl::cpu {

namespace {

bool EndsWith(const AxisList& axes, const AxisList& end) {
  return axes.size() >= end.size() && std::equal(end.rbegin(), end.rend(), axes.rbegin());
}

/// Whether the value is +0, or is a tile that an elementwise loop fills with +0.
bool IsZero(const Value* value) {
  const Op* def = value->def();
  if (def && def->kind() == OpKind::Elementwise) {
    value = def->region()->terminator()->operand(value->index());
    def = value->def();
  }
  return def && def->kind() == OpKind::Const && def->attr<AttrKey::Bits>() == 0;
}

/// Returns the value from which the reduction starts. Returns null if it starts from the identity, or if it
/// is a sum that starts from +0.
Value* InitialValue(const Op* fold) {
  if (fold->kind() != OpKind::Contraction) return nullptr;
  Value* into = ir::ContractionOp(const_cast<Op*>(fold)).into();
  return IsZero(into) ? nullptr : into;
}

class ReductionFuser {
 public:
  ReductionFuser(ir::Module& module, const ir::Function& kernel)
      : module_(module), order_(kernel) {}

  void FuseInto(Op* elementwise) {
    LastAxis last(elementwise);
    if (!last.Vectorizes() || last.scan_axis()) return;
    std::vector<Op*> folds = FusibleReductions(elementwise);
    if (!folds.empty()) Take(elementwise, folds);
  }

 private:
  std::vector<Op*> FusibleReductions(const Op* elementwise) const {
    std::vector<Op*> folds;
    for (const Value* result : elementwise->results()) {
      for (const ir::Use& use : result->uses()) {
        Op* fold = use.user;
        bool known = Contains(folds, fold);
        if (known || !MayBeFused(fold, elementwise)) continue;
        bool agrees =
            folds.empty() || fold->attr<AttrKey::Axes>() == folds[0]->attr<AttrKey::Axes>();
        if (agrees) folds.push_back(fold);
      }
    }
    return folds;
  }

  bool MayBeFused(const Op* fold, const Op* elementwise) const {
    if (fold->kind() != OpKind::Reduce && fold->kind() != OpKind::Contraction) return false;
    if (fold->parent_region() != elementwise->parent_region() ||
        fold->attr<AttrKey::Order>() != ir::OrderKind::Lanes64)
      return false;
    AxisList walked = WalkedAxes(elementwise);
    if (!EndsWith(walked, fold->attr<AttrKey::Axes>())) return false;
    AxisList kept = walked;
    kept.resize(walked.size() - fold->attr<AttrKey::Axes>().size());
    if (order_.Sorted(kept) != order_.Sorted(fold->result(0)->type()->axes)) return false;
    std::vector<Value*> read = TermsOf(fold);
    if (Value* start = InitialValue(fold)) read.push_back(start);
    return std::ranges::all_of(read, [&](const Value* operand) {
      bool made_here = operand->def() == elementwise && operand != InitialValue(fold);
      bool is_there = operand->def() != elementwise && !ComesAfter(operand->def(), elementwise);
      return made_here || (is_there && LiesAlong(operand, walked.back()));
    });
  }

  /// Whether adjacent elements along the axis can be contiguous. This is also true if the value does not have
  /// the axis.
  bool LiesAlong(const Value* value, ir::AxisId axis) const {
    return !HasAxis(value, axis) || order_.Sorted(value->type()->axes).back() == axis;
  }

  /// Replaces the elementwise loop by one that also computes the reductions.
  void Take(Op* elementwise, const std::vector<Op*>& folds) {
    std::vector<Value*> kept;
    std::vector<ir::Type> types;
    auto is_taken = [&](const ir::Use& use) { return Contains(folds, use.user); };
    for (Value* result : elementwise->results()) {
      if (!std::ranges::all_of(result->uses(), is_taken)) kept.push_back(result);
    }
    for (const Value* result : kept) types.push_back(result->type());
    for (const Op* fold : folds) types.push_back(fold->result()->type());
    ir::Builder b(module_, elementwise);
    Op* taking =
        b.Create(OpKind::Elementwise, {elementwise->operands()}, types, elementwise->attrs());
    ir::Region* body = taking->region();
    for (Value* param : elementwise->region()->params())
      param->ReplaceAllUsesWith(b.AddParam(body, param->type(), param->name()));
    MoveOps(elementwise->region(), body);
    Op* yield = body->terminator();
    b.SetInsertionPoint(yield);
    std::vector<Value*> yielded;
    for (const Value* result : kept) yielded.push_back(yield->operand(result->index()));
    for (const Op* fold : folds) yielded.push_back(ReduceInLoop(b, fold, elementwise, taking));
    b.Create(OpKind::Yield, {yielded}, {});
    for (size_t i = 0; i < types.size(); ++i) {
      Value* old = i < kept.size() ? kept[i] : folds[i - kept.size()]->result();
      taking->result(i)->set_name(old->name());
      old->ReplaceAllUsesWith(taking->result(i));
    }
    for (Op* fold : folds) ir::Erase(fold);
    ir::Erase(yield);
    ir::Erase(elementwise);
  }

  Value* ReduceInLoop(ir::Builder& b, const Op* fold, const Op* elementwise, const Op* taking) {
    b.set_loc(fold->loc());
    std::vector<Value*> terms;
    for (Value* term : TermsOf(fold)) {
      const Op* yield = taking->region()->terminator();
      terms.push_back(term->def() == elementwise ? yield->operand(term->index())
                                                 : ElementAtPoint(b, term, taking));
    }
    auto acc = fold->attr<AttrKey::Acc>();
    auto kind =
        fold->kind() == OpKind::Reduce ? fold->attr<AttrKey::Reduction>() : ir::ReductionKind::Sum;
    return MakeOne(
        b, OpKind::ReduceInLoop, {terms, passes::OneOrNone(InitialValue(fold))},
        b.types().ScalarOf(acc),
        {ir::MakeAttr<AttrKey::Reduction>(kind),
         ir::MakeAttr<AttrKey::Axes>(fold->attr<AttrKey::Axes>()), ir::MakeAttr<AttrKey::Acc>(acc),
         ir::MakeAttr<AttrKey::Order>(fold->attr<AttrKey::Order>())});
  }

  /// Returns the element of `value`, which is from outside the elementwise loop, at the loop's current
  /// indices.
  static Value* ElementAtPoint(ir::Builder& b, Value* value, const Op* elementwise) {
    if (value->type()->axes.empty()) return value;
    AxisList walked = WalkedAxes(elementwise);
    std::vector<Value*> point;
    for (ir::AxisId axis : value->type()->axes) {
      auto number = std::ranges::find(walked, axis) - walked.begin();
      point.push_back(elementwise->region()->param(static_cast<size_t>(number)));
    }
    return MakeOne(b, OpKind::Element, {{value}, point}, b.types().ScalarOf(value->type()->scalar));
  }

  ir::Module& module_;
  AxisOrder order_;
};

}  // namespace

void RunFuseReductions(PassContext& context, ir::Function& kernel) {
  if (context.keeps_tiles) return;  // tiles would disappear
  ReductionFuser taker(context.module, kernel);
  for (Op* elementwise : passes::OpsOfKind(kernel, OpKind::Elementwise))
    taker.FuseInto(elementwise);
}

}  // namespace kdl::cpu
