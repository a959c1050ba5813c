#include "targets/cpu/analysis/block_work.h"

#include <cmath>

#include "ir/op_table.h"
#include "ir/views.h"
#include "targets/cpu/analysis/loop_cost.h"

namespace kdl::cpu {

namespace {

using ir::Op;
using ir::OpKind;

/// Waking a second thread takes 1,000 to 1,400 ns (NOTES.md, "What a call costs in each language").
constexpr double kWakeCycles = 4000;

/// Returns a tile with the axes along which the op computes or accesses memory, or null if it does neither.
const ir::Value* TileOf(const Op* op) {
  if (op->kind() == OpKind::Store) return op->operand(ir::StoreOp::at_value);
  return op->results().size() == 1 ? op->result() : nullptr;
}

bool HasKnownTime(const Op* op) {
  return op->kind() == OpKind::Load || op->kind() == OpKind::Store || op->kind() == OpKind::Const ||
         op->info().has(ir::kElementwise) || op->info().has(ir::kTerminator);
}

}  // namespace

int64_t LeastWorthwhileLength(const KernelShape& kernel, const Op* spmd, const ir::Value* binder) {
  if (binder->type()->kind != ir::TypeKind::Block) return 1;
  ir::AxisId own = binder->type()->axes[0];
  double cycles = 0;  // for each index of the binder
  for (const Op* op : *spmd->region()) {
    if (!HasKnownTime(op)) return 1;
    const ir::Value* tile = TileOf(op);
    if (!tile || !HasAxis(tile, own)) continue;
    int64_t bytes = Bytes(tile->type()->scalar);
    double lanes = static_cast<double>(kernel.facts.vector_bits) / static_cast<double>(8 * bytes);
    double elements = 1;
    for (ir::AxisId axis : tile->type()->axes) {
      if (axis == own) continue;
      if (!IsConstant(kernel.function.axis(axis).extent)) return 1;
      elements *= static_cast<double>(kernel.Extent(axis));
    }
    cycles += OpCycles(kernel, op, bytes) * elements / lanes;
  }
  return cycles > 0 ? static_cast<int64_t>(std::ceil(kWakeCycles / cycles)) : 1;
}

}  // namespace kdl::cpu
