#include "targets/cpu/expand/fold_notes.h"

#include <algorithm>

#include "passes/analysis/execution_counts.h"
#include "passes/remarks.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::cpu {

namespace {

namespace remark = passes::remark;

/// Whether a loop stores the operand in a tile that only the reduction reads.
bool IsStoredFor(const Op* fold, const Value* operand) {
  const Op* load = IsTileValue(operand) ? operand->def() : nullptr;
  if (!load || load->kind() != OpKind::LoadTile) return false;
  bool is_made_by_loop = false;
  for (const ir::Use& use : load->operand(0)->uses()) {
    if (use.user->kind() == OpKind::StoreTile) {
      const Op* maker = use.user->operand(0)->def();
      is_made_by_loop |= maker && maker->kind() == OpKind::Elementwise;
    } else if (use.user->kind() == OpKind::LoadTile) {
      bool is_for_fold = std::ranges::all_of(
          use.user->result()->uses(), [&](const ir::Use& read) { return read.user == fold; });
      if (!is_for_fold) return false;
    }
  }
  return is_made_by_loop;
}

double PointsOf(const Op* fold, const Value* operand) {
  double points = passes::EstimateRuns(fold);
  for (ir::AxisId axis : operand->type()->axes) {
    const Value* block = ir::FindBlock(fold, axis);
    if (block) points *= passes::EstimateBlockSize(block);
  }
  return points;
}

}  // namespace

bool IsNewForRemarks(Expander& e, const Op* op) {
  return e.context.remarks && e.noted.insert(op).second;
}

void NoteFold(Expander& e, const Op* fold, std::span<Value* const> terms) {
  bool is_product = fold->kind() == OpKind::Contraction;
  bool is_sequential = fold->attr<AttrKey::Order>() != ir::OrderKind::Lanes64;
  // The factors of such a product are stored to be used several times.
  if (!e.context.remarks || (is_product && is_sequential)) return;
  double cycles = 0;
  for (const Value* operand : terms) {
    if (!IsStoredFor(fold, operand)) continue;
    double lanes = static_cast<double>(e.facts.vector_bits) / 8 / Bytes(operand->type()->scalar);
    cycles += PointsOf(fold, operand) / lanes * remark::StoredTerms.cycles;
  }
  if (cycles == 0 || !IsNewForRemarks(e, fold)) return;
  e.context.remarks->Add(remark::StoredTerms, e.function.name, fold->loc(), cycles,
                         e.function.axis(fold->attr<AttrKey::Axes>().back()).name.str());
}

void NoteAccumulators(Expander& e, const Op* fold, size_t vectors) {
  auto registers = static_cast<size_t>(e.facts.vector_registers);
  if (vectors <= registers || !IsNewForRemarks(e, fold)) return;
  const Op* loop = fold->parent_region()->parent();
  bool is_in_loop = fold->kind() == OpKind::ReduceInLoop;
  double points = is_in_loop ? passes::EstimateRuns(fold) : PointsOf(fold, fold->operand(0));
  double lanes = 64.0 / static_cast<double>(vectors);
  double share = 1 - static_cast<double>(registers) / static_cast<double>(vectors);
  e.context.remarks->Add(remark::AccumulatorsInMemory, e.function.name,
                         (is_in_loop ? loop : fold)->loc(),
                         points / lanes * share * remark::AccumulatorsInMemory.cycles,
                         static_cast<int64_t>(vectors), static_cast<int64_t>(registers));
}

void NoteCombine(Expander& e, const Op* op, int64_t lanes) {
  if (lanes > 1 || !IsNewForRemarks(e, op)) return;
  bool is_in_loop = op->kind() == OpKind::ScanInLoop;
  double points = is_in_loop ? passes::EstimateRuns(op) : PointsOf(op, op->operand(0));
  e.context.remarks->Add(remark::SerialScan, e.function.name, op->loc(),
                         points * remark::SerialScan.cycles,
                         e.function.axis(op->attr<AttrKey::Axes>().back()).name.str());
}

}  // namespace kdl::cpu
