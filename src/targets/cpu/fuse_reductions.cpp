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

// fuse-reductions: what a fold in lanes reads and a nest makes need not become a tile: each point goes into the accumulators as
// soon as the nest's body has made it. The fold reads nothing else that comes after the nest, so it may happen there.
//
//   %t = nest (%p of %i, %q of %j) { … yield %e }          %s = nest (%p of %i, %q of %j) {
//   %s = reduce sum %t over j                         ->     … ; %f = reduce_in_loop sum %e over j ; yield %f }
//
// The folds of one nest fold the same axes, those that it walks last, and vectors can run its body.

namespace kdl::cpu {

namespace {

bool EndsWith(const AxisList& axes, const AxisList& end) {
  return axes.size() >= end.size() && std::equal(end.rbegin(), end.rend(), axes.rbegin());
}

/// Whether the number, or each element of a tile that a nest fills with it, is +0.
bool IsZero(const Value* value) {
  const Op* def = value->def();
  if (def && def->kind() == OpKind::Nest) {
    value = def->region()->terminator()->operand(value->index());
    def = value->def();
  }
  return def && def->kind() == OpKind::Const && def->attr<AttrKey::Bits>() == 0;
}

/// What the fold starts from; null: from the identity, which sums are that start from +0.
Value* StartOf(const Op* fold) {
  if (fold->kind() != OpKind::Contraction) return nullptr;
  Value* into = ir::ContractionOp(const_cast<Op*>(fold)).into();
  return IsZero(into) ? nullptr : into;
}

class FoldTaker {
 public:
  FoldTaker(ir::Module& module, const ir::Function& kernel) : module_(module), order_(kernel) {}

  void Run(Op* nest) {
    if (!LastAxis(nest).Vectorizes()) return;
    std::vector<Op*> folds = FoldsOf(nest);
    if (!folds.empty()) Take(nest, folds);
  }

 private:
  std::vector<Op*> FoldsOf(const Op* nest) const {
    std::vector<Op*> folds;
    for (const Value* result : nest->results()) {
      for (const ir::Use& use : result->uses()) {
        Op* fold = use.user;
        bool known = Contains(folds, fold);
        if (known || !MayBeTaken(fold, nest)) continue;
        bool agrees =
            folds.empty() || fold->attr<AttrKey::Axes>() == folds[0]->attr<AttrKey::Axes>();
        if (agrees) folds.push_back(fold);
      }
    }
    return folds;
  }

  bool MayBeTaken(const Op* fold, const Op* nest) const {
    if (fold->kind() != OpKind::Reduce && fold->kind() != OpKind::Contraction) return false;
    if (fold->parent_region() != nest->parent_region() ||
        fold->attr<AttrKey::Order>() != ir::OrderKind::Lanes64)
      return false;
    AxisList walked = WalkedAxes(nest);
    if (!EndsWith(walked, fold->attr<AttrKey::Axes>())) return false;
    AxisList kept = walked;
    kept.resize(walked.size() - fold->attr<AttrKey::Axes>().size());
    if (order_.Sorted(kept) != order_.Sorted(fold->result(0)->type()->axes)) return false;
    std::vector<Value*> read = TermsOf(fold);
    if (Value* start = StartOf(fold)) read.push_back(start);
    return std::ranges::all_of(read, [&](const Value* operand) {
      bool made_here = operand->def() == nest && operand != StartOf(fold);
      bool is_there = operand->def() != nest && !ComesAfter(operand->def(), nest);
      return made_here || (is_there && LiesAlong(operand, walked.back()));
    });
  }

  /// Whether elements that are neighbours along the axis, if it has it, can lie side by side.
  bool LiesAlong(const Value* value, ir::AxisId axis) const {
    return !HasAxis(value, axis) || order_.Sorted(value->type()->axes).back() == axis;
  }

  /// A nest with the folds in it takes the place of the nest.
  void Take(Op* nest, const std::vector<Op*>& folds) {
    std::vector<Value*> kept;
    std::vector<ir::Type> types;
    auto is_taken = [&](const ir::Use& use) { return Contains(folds, use.user); };
    for (Value* result : nest->results()) {
      if (!std::ranges::all_of(result->uses(), is_taken)) kept.push_back(result);
    }
    for (const Value* result : kept) types.push_back(result->type());
    for (const Op* fold : folds) types.push_back(fold->result()->type());
    ir::Builder b(module_, nest);
    Op* taking = b.Create(OpKind::Nest, {nest->operands()}, types, nest->attrs());
    ir::Region* body = taking->region();
    for (Value* param : nest->region()->params())
      param->ReplaceAllUsesWith(b.AddParam(body, param->type(), param->name()));
    MoveOps(nest->region(), body);
    Op* yield = body->terminator();
    b.SetInsertionPoint(yield);
    std::vector<Value*> yielded;
    for (const Value* result : kept) yielded.push_back(yield->operand(result->index()));
    for (const Op* fold : folds) yielded.push_back(ReduceInLoop(b, fold, nest, taking));
    b.Create(OpKind::Yield, {yielded}, {});
    for (size_t i = 0; i < types.size(); ++i) {
      Value* old = i < kept.size() ? kept[i] : folds[i - kept.size()]->result();
      taking->result(i)->set_name(old->name());
      old->ReplaceAllUsesWith(taking->result(i));
    }
    for (Op* fold : folds) ir::Erase(fold);
    ir::Erase(yield);
    ir::Erase(nest);
  }

  Value* ReduceInLoop(ir::Builder& b, const Op* fold, const Op* nest, const Op* taking) {
    b.set_loc(fold->loc());
    std::vector<Value*> terms;
    for (Value* term : TermsOf(fold)) {
      const Op* yield = taking->region()->terminator();
      terms.push_back(term->def() == nest ? yield->operand(term->index())
                                          : ElementOf(b, term, taking));
    }
    auto acc = fold->attr<AttrKey::Acc>();
    auto kind = fold->kind() == OpKind::Reduce ? fold->attr<AttrKey::Fold>() : ir::FoldKind::Sum;
    return MakeOne(
        b, OpKind::ReduceInLoop, {terms, passes::OneOrNone(StartOf(fold))}, b.types().ScalarOf(acc),
        {ir::MakeAttr<AttrKey::Fold>(kind),
         ir::MakeAttr<AttrKey::Axes>(fold->attr<AttrKey::Axes>()), ir::MakeAttr<AttrKey::Acc>(acc),
         ir::MakeAttr<AttrKey::Order>(fold->attr<AttrKey::Order>())});
  }

  /// A value of the nest's surroundings at the point.
  static Value* ElementOf(ir::Builder& b, Value* value, const Op* nest) {
    if (value->type()->axes.empty()) return value;
    AxisList walked = WalkedAxes(nest);
    std::vector<Value*> point;
    for (ir::AxisId axis : value->type()->axes) {
      auto number = std::ranges::find(walked, axis) - walked.begin();
      point.push_back(nest->region()->param(static_cast<size_t>(number)));
    }
    return MakeOne(b, OpKind::Element, {{value}, point}, b.types().ScalarOf(value->type()->scalar));
  }

  ir::Module& module_;
  AxisOrder order_;
};

}  // namespace

void RunFuseReductions(PassContext& context, ir::Function& kernel) {
  FoldTaker taker(context.module, kernel);
  for (Op* nest : passes::OpsOfKind(kernel, OpKind::Nest)) taker.Run(nest);
}

}  // namespace kdl::cpu
