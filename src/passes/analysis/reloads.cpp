#include "passes/analysis/reloads.h"

#include <algorithm>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/analysis/points.h"
#include "passes/rewriting/rewrite.h"
#include "proofs/proofs.h"

namespace kdl::passes {

namespace {

/// Returns whether the load reads contiguous elements along axis `last`, or one element for the whole row.
bool ReadsRows(ir::LoadOp load, AxisId last) {
  ir::Access access = load->attr<AttrKey::Access>();
  for (const ir::AccessDim& dim : access.dims) {
    for (const ir::AccessTerm& term : dim.terms) {
      ir::Type type = load.index()[term.operand]->type();
      bool walks = Contains(type->axes, last);
      bool side_by_side = type->kind == ir::TypeKind::Block && &dim == &access.dims.back() &&
                          IsConstant(term.coefficient, 1);
      if (walks && !side_by_side) return false;
    }
  }
  return true;
}

bool IsReader(const ir::Use& use, const Op* load) {
  return use.user->parent_region() == load->parent_region() && IsPointwise(use.user);
}

bool MayReload(const Op* op, const AxisOrder& order) {
  bool by_points = op->kind() == OpKind::Load && !op->HasAttr(AttrKey::Copied);
  if (!by_points || PointAxes(op).empty()) return false;
  ir::LoadOp load(const_cast<Op*>(op));
  if (load.mask() || load.otherwise() || op->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Guard ||
      !proofs::IsInput(load.tensor()))
    return false;
  bool is_read = false;
  for (const ir::Use& use : op->result()->uses()) {
    if (!IsReader(use, op)) continue;
    is_read = true;
    if (!ReadsRows(load, order.Sorted(PointAxes(use.user)).back())) return false;
  }
  return is_read;
}

/// Returns whether the op only widens the integers of a repeated load, and all its users are in loops over more axes.
/// Such an op would otherwise have a loop and a tile of its own, and end the loop around it.
bool MayRepeatCast(const Op* op, const AxisOrder& order) {
  if (op->kind() != OpKind::Cast || PointAxes(op).empty() || op->result()->uses().empty())
    return false;
  Scalar from = op->operand(0)->type()->scalar;
  Scalar to = op->result()->type()->scalar;
  if (!IsInteger(from) || !IsInteger(to) || Bytes(from) >= Bytes(to)) return false;
  ir::LoadOp load(op->operand(0)->def());
  return std::ranges::all_of(op->result()->uses(), [&](const ir::Use& use) {
    return IsReader(use, op) && PointAxes(use.user).size() > PointAxes(op).size() &&
           ReadsRows(load, order.Sorted(PointAxes(use.user)).back());
  });
}

Op* PartTwin(ir::Module& module, Op* load) {
  std::vector<ir::Use> others;
  for (const ir::Use& use : load->result()->uses()) {
    if (!IsReader(use, load)) others.push_back(use);
  }
  if (others.empty()) return nullptr;
  ir::Builder builder(module, load);
  ir::ValueMap same;
  Op* twin = ir::Clone(load, builder, same);
  for (const ir::Use& use : others) use.user->SetOperand(use.operand, twin->result());
  return twin;
}

}  // namespace

Reloads::Reloads(ir::Module& module, const ir::Function& kernel, const AxisOrder& order,
                 bool keeps_named) {
  auto may_reload = [&](const Op* op) {
    bool is_kept = keeps_named && !op->results().empty() && !op->result()->name().empty();
    return !is_kept && MayReload(op, order);
  };
  for (Op* load : OpsIn(kernel.body, may_reload)) twins_[load] = PartTwin(module, load);
  auto may_repeat = [&](const Op* op) {
    bool casts = op->kind() == OpKind::Cast && twins_.contains(op->operand(0)->def());
    return casts && MayRepeatCast(op, order);
  };
  for (Op* cast : OpsIn(kernel.body, may_repeat)) twins_[cast] = nullptr;
}

Op* Reloads::RepeatedLoad(const Value* value) const {
  return twins_.contains(value->def()) ? value->def() : nullptr;
}

Op* Reloads::KeptTwin(const Op* load) const { return twins_.at(load); }

}  // namespace kdl::passes
