#include "targets/cpu/expand/riders.h"

#include <algorithm>

// What a fold in lanes reads and a nest makes need not become a tile: each piece goes into the accumulators as soon as
// the nest's body has made it. The fold itself reads nothing that comes behind the nest, so it may happen there.
//
//   %t = nest (%i, %j) { … yield %e }
//   %s = reduce sum %t over j         ->  for each i: lanes; for each piece of j: { …; lanes += %e }; fold the lanes

namespace kdl::cpu {

namespace {

using ir::AttrKey;
using ir::AxisList;
using ir::Op;
using ir::Value;

/// The axes in the order of the loops.
AxisList LoopAxes(const Op* nest) {
  AxisList axes;
  for (const Value* blk : nest->operands()) axes.push_back(blk->type()->axes[0]);
  return axes;
}

bool EndsWith(const AxisList& axes, const AxisList& end) {
  return axes.size() >= end.size() && std::equal(end.rbegin(), end.rend(), axes.rbegin());
}

/// Whether a fold along `last` can read the value before the nest has run.
bool IsThere(const Expander& e, const Value* value, ir::AxisId last) {
  if (e.scalars.contains(value)) return true;
  auto home = e.homes.find(value);
  if (home == e.homes.end()) return false;
  const AxisList& axes = home->second.axes;
  return axes.back() == last || std::find(axes.begin(), axes.end(), last) == axes.end();
}

const Value* StartOf(const Op* fold) {
  if (fold->kind() != ir::OpKind::Contraction) return nullptr;
  return ir::ContractionOp(const_cast<Op*>(fold)).into();
}

bool MayRide(const Expander& e, const Op* fold, const Op* nest) {
  if (fold->block() != nest->block() || !fold->HasAttr(AttrKey::Order) ||
      fold->attr<AttrKey::Order>() != ir::OrderKind::Lanes64)
    return false;
  AxisList walked = LoopAxes(nest);
  if (!EndsWith(walked, fold->attr<AttrKey::Axes>())) return false;
  AxisList kept = walked;
  kept.resize(walked.size() - fold->attr<AttrKey::Axes>().size());
  if (e.order.Sorted(kept) != e.order.Sorted(fold->result(0)->type()->axes)) return false;
  return std::all_of(fold->operands().begin(), fold->operands().end(), [&](const Value* operand) {
    bool made_here = operand->def() == nest && operand != StartOf(fold);
    return made_here || IsThere(e, operand, walked.back());
  });
}

}  // namespace

std::vector<Accumulation> RidersOf(Expander& e, const Op* nest) {
  std::vector<const Op*> folds;
  for (const Value* result : nest->results()) {
    for (const ir::Use& use : result->uses()) {
      const Op* fold = use.user;
      bool known = std::find(folds.begin(), folds.end(), fold) != folds.end();
      if (known || !MayRide(e, fold, nest)) continue;
      bool agrees = folds.empty() || fold->attr<AttrKey::Axes>() == folds[0]->attr<AttrKey::Axes>();
      if (agrees) folds.push_back(fold);
    }
  }
  std::vector<Accumulation> riders;
  for (const Op* fold : folds) riders.push_back(AccumulationOf(e, fold));
  return riders;
}

}  // namespace kdl::cpu
