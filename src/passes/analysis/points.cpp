#include "passes/analysis/points.h"

#include <algorithm>

#include "ir/op_info.h"
#include "ir/views.h"
#include "support/check.h"

namespace kdl::passes {

AxisList PointAxes(const Op* op) {
  AxisList axes;
  for (const Value* result : op->results()) axes = ir::UnionAxes(axes, result->type()->axes);
  if (!op->results().empty()) return axes;
  for (const Value* operand : op->operands()) {
    if (operand->type()->kind != ir::TypeKind::Tensor)
      axes = ir::UnionAxes(axes, operand->type()->axes);
  }
  return axes;
}

namespace {

/// Returns whether the op loads from a constant table.
bool LooksUp(const Op* op) {
  if (op->kind() != OpKind::Load) return false;
  const Op* tensor = op->operand(ir::LoadOp::at_tensor)->def();
  return tensor && tensor->kind() == OpKind::Table;
}

/// Returns whether the iterations of a `while` work point by point: no element depends on another element, or
/// on memory that changes. Results that are used must have all axes of the loop, like the results of
/// elementwise loops.
bool IsPointwiseWhile(const Op* op) {
  AxisList axes = PointAxes(op);
  for (const Value* result : op->results()) {
    if (!result->uses().empty() && result->type()->axes != axes) return false;
  }
  bool maps = true;
  ir::Walk(op->region(), [&](const Op* inner) {
    bool flows = inner->kind() == OpKind::While || inner->kind() == OpKind::Yield;
    maps = maps && (flows || inner->kind() == OpKind::Const || inner->kind() == OpKind::Iota ||
                    inner->kind() == OpKind::Assert || inner->info().has(ir::kElementwise) ||
                    LooksUp(inner));
  });
  return maps;
}

}  // namespace

bool IsPointwise(const Op* op) {
  KDL_CHECK(op->kind() != OpKind::Call,
            "a call that was not inlined before elementwise loops are formed");
  bool maps = op->info().has(ir::kElementwise) || op->kind() == OpKind::Iota ||
              op->kind() == OpKind::Assert || (op->kind() == OpKind::While && IsPointwiseWhile(op));
  bool accesses =
      op->kind() == OpKind::Load || op->kind() == OpKind::Store || op->kind() == OpKind::Update;
  return (maps || accesses) && !op->HasAttr(ir::AttrKey::Copied) && !PointAxes(op).empty();
}

namespace {

/// Returns whether a reduction reads the value, directly or after a conversion.
bool IsReduced(const Value* value) {
  return std::ranges::any_of(value->uses(), [](const ir::Use& use) {
    OpKind kind = use.user->kind();
    if (kind == OpKind::Cast || kind == OpKind::Flush) return IsReduced(use.user->result());
    return kind == OpKind::Reduce || kind == OpKind::Contraction;
  });
}

}  // namespace

bool IsNeighborRead(const Op* op) {
  return op->kind() == OpKind::SlidingWindow && !PointAxes(op).empty() && !IsReduced(op->result());
}

}  // namespace kdl::passes
