#include "passes/analysis/points.h"

#include "ir/views.h"
#include "support/check.h"

namespace kdl::passes {

using ir::AxisList;
using ir::Op;
using ir::OpKind;
using ir::Value;

AxisList PointAxes(const Op* op) {
  if (!op->results().empty()) return op->result()->type()->axes;
  AxisList axes;
  for (const Value* operand : op->operands()) {
    if (operand->type()->kind != ir::TypeKind::Tensor)
      axes = ir::UnionAxes(axes, operand->type()->axes);
  }
  return axes;
}

bool IsPointwise(const Op* op) {
  KDL_CHECK(op->kind() != OpKind::Call, "calls are inlined before nests are formed");
  bool maps = op->info().has(ir::kElementwise) || op->kind() == OpKind::Iota;
  bool accesses =
      op->kind() == OpKind::Load || op->kind() == OpKind::Store || op->kind() == OpKind::Update;
  return (maps || accesses) && !PointAxes(op).empty();
}

}  // namespace kdl::passes
