#include "targets/cpu/analysis/loop_cost.h"

#include <algorithm>
#include <set>

#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/analysis/execution_counts.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::cpu {

namespace {

// Cores of recent years start two vector operations in a cycle. They move 30 bytes in a cycle to or from the L2
// cache and 5 to or from memory; the estimate is between the two. Rows that were just read are in the L1 cache.
constexpr double kOpCycles = 0.5;
constexpr double kCyclesPerByte = 0.06;
constexpr double kCyclesPerCachedByte = 0.02;
// Processors with shorter vectors convert i64 to floats one by one.
constexpr int kBitsWithWideCasts = 512;
constexpr double kLaneCastCycles = 12;
// An addition waits this long for the previous one.
constexpr double kLatency = 4;

double TileCycles(const KernelShape& kernel, const Op* op) {
  std::set<ir::AxisId> axes;
  double points = 1;
  int64_t bytes = 1;
  auto visit = [&](const Value* value) {
    if (!ir::IsTile(value->type())) return;
    bytes = std::max<int64_t>(bytes, Bytes(value->type()->scalar));
    for (ir::AxisId axis : value->type()->axes) {
      const Value* block = ir::FindBlock(op, axis);
      if (axes.insert(axis).second && block) points *= passes::EstimateBlockSize(block);
    }
  };
  for (const Value* operand : op->operands()) visit(operand);
  for (const Value* result : op->results()) visit(result);
  double lanes = static_cast<double>(kernel.facts.vector_bits) / 8 / static_cast<double>(bytes);
  bool is_serial = op->kind() == OpKind::Scan || op->kind() == OpKind::MultiReduce;
  return passes::EstimateRuns(op) * points / lanes * (is_serial ? kLatency : kOpCycles);
}

}  // namespace

double OpCycles(const KernelShape& kernel, const Op* op, int64_t bytes) {
  if (!op->info().has(ir::kElementwise))
    return op->HasAttr(AttrKey::BoundsMode) || op->kind() == OpKind::Element ? kOpCycles : 0;
  kdl::Scalar scalar = op->result()->type()->scalar;
  // Indices and conditions need several registers if their elements are wider than those of the vector.
  double registers = std::max(1.0, static_cast<double>(Bytes(scalar)) / static_cast<double>(bytes));
  switch (op->kind()) {
    case OpKind::Div:
    case OpKind::Rem:
    case OpKind::Sqrt:
      return static_cast<double>(Bytes(scalar)) * registers;  // 4 to 5 cycles for f32, 8 for f64
    case OpKind::Cast: {
      kdl::Scalar from = op->operand(0)->type()->scalar;
      bool is_by_lanes = IsInteger(from) && Bytes(from) == 8 && IsFloat(scalar) &&
                         kernel.facts.vector_bits < kBitsWithWideCasts;
      return is_by_lanes ? kLaneCastCycles : kOpCycles * registers;
    }
    case OpKind::Mul:
      return (IsInteger(scalar) && Bytes(scalar) == 8 ? 8 : 1) * kOpCycles * registers;
    default:
      return kOpCycles * registers;
  }
}

LoopCost CostOfLoop(const KernelShape& kernel, const Rereads& rereads, const Op* elementwise,
                    const LastAxis& last) {
  LoopCost cost;
  std::set<const Value*> tensors;
  for (const Op* op : *elementwise->region()) {
    if (last.IsInvariant(op) || op->kind() == OpKind::Prefetch) continue;
    cost.body += OpCycles(kernel, op, last.Bytes());
    bool is_first = op->HasAttr(AttrKey::BoundsMode) && tensors.insert(TensorOf(op)).second;
    if (!is_first) continue;
    bool was_read = rereads.FindAgain(op);
    cost.memory +=
        (was_read ? kCyclesPerCachedByte : kCyclesPerByte) * Bytes(TensorOf(op)->type()->scalar);
  }
  cost.lanes =
      static_cast<double>(kernel.facts.vector_bits) / 8 / static_cast<double>(last.Bytes());
  cost.runs = passes::EstimateRuns(elementwise) * passes::EstimatePoints(elementwise);
  return cost;
}

double LeastCycles(const KernelShape& kernel) {
  Rereads rereads(kernel.function);
  double cycles = 0;
  ir::Walk(kernel.function.body, [&](const Op* op) {
    switch (op->kind()) {
      case OpKind::Elementwise: {
        LoopCost cost = CostOfLoop(kernel, rereads, op, LastAxis(op));
        cycles += cost.Cycles(cost.lanes);
        break;
      }
      case OpKind::Reduce:
      case OpKind::Contraction:
      case OpKind::MultiReduce:
      case OpKind::Scan:
      case OpKind::Gather:
        cycles += TileCycles(kernel, op);
        break;
      default:
        break;
    }
  });
  return cycles;
}

}  // namespace kdl::cpu
