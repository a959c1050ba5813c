#include "targets/cpu/analysis/combining.h"

#include <algorithm>

#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::cpu {

bool CombinesVectors(const Op* op) {
  for (const Op* inner : *op->region()) {
    bool runs = inner->info().has(ir::kTerminator) ||
                ((inner->info().has(ir::kElementwise) || inner->kind() == OpKind::Const) &&
                 !MayTrap(inner));
    if (!runs) return false;
  }
  return true;
}

std::optional<ir::UpdateKind> UpdateLike(const Op* scan) {
  using ir::UpdateKind;
  const ir::Region* region = scan->region();
  const Op* combine = region->first();
  const Op* yield = region->terminator();
  bool is_single = scan->results().size() == 1 && IsInteger(scan->result()->type()->scalar) &&
                   yield->operand(0)->def() == combine && combine->operands().size() == 2;
  if (!is_single || !std::ranges::is_permutation(combine->operands(), region->params()))
    return std::nullopt;
  for (UpdateKind how : {UpdateKind::Add, UpdateKind::Max, UpdateKind::Min, UpdateKind::And,
                         UpdateKind::Or, UpdateKind::Xor, UpdateKind::Mul}) {
    if (ir::CombineOf(how) == combine->kind()) return how;
  }
  return std::nullopt;
}

std::vector<const Op*> ScansIn(const Op* elementwise) {
  std::vector<const Op*> scans;
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::ScanInLoop) scans.push_back(op);
  }
  return scans;
}

bool ScansLanes(const Op* scan) {
  return scan->attr<AttrKey::Direction>() == ir::DirectionKind::Up &&
         scan->attr<AttrKey::Keep>() == ir::KeepKind::After && UpdateLike(scan);
}

namespace {

/// Returns the size of the widest scalar type in the region's vectors.
int64_t CombinedBytes(const Op* op) {
  int64_t bytes = 0;
  auto count = [&](const Value* value) {
    kdl::Scalar scalar = value->type()->scalar;
    // As in elementwise loops, indices and conditions are ignored, because they adapt to the width of the
    // other values.
    if (scalar != Scalar::I64 && scalar != Scalar::Bool)
      bytes = std::max<int64_t>(bytes, Bytes(scalar));
  };
  for (const Value* param : op->region()->params()) count(param);
  for (const Op* inner : *op->region()) {
    for (const Value* result : inner->results()) count(result);
  }
  return bytes ? bytes : 8;
}

}  // namespace

ir::AxisList KeptAxes(const KernelShape& kernel, const Op* op) {
  ir::AxisList kept = kernel.order.Sorted(op->result(0)->type()->axes);
  if (op->kind() == OpKind::Scan) std::erase(kept, op->attr<AttrKey::Axes>()[0]);
  return kept;
}

int64_t CombinedLanes(const KernelShape& kernel, const Op* op) {
  ir::AxisList kept = KeptAxes(kernel, op);
  if (kept.empty() || !CombinesVectors(op)) return 1;
  return kernel.LanesAlong(kept.back(), CombinedBytes(op));
}

}  // namespace kdl::cpu
