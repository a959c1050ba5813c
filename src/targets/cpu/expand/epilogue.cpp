#include <unordered_set>

#include "ir/tensor_view.h"
#include "passes/rewrite.h"
#include "targets/cpu/expand/expander.h"
#include "targets/cpu/expand/last_axis.h"
#include "targets/cpu/expand/register_block.h"

// A nest that stores what a loop of contractions has made follows each register block in the loop's last turn: its
// elements come from registers, or from a part of the tile that was written just before.
//
//   %s = loop … carry(%t = %z) { %u = contraction %a, %b into %t ; yield %u }
//   nest { %e = element %s ; store %e to %c[%i, %j] }
//   ->  loop … { for each register block { … ; if the last turn { the nest, for this block } else { keep it } } }

namespace kdl::cpu {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// The one nest of the loop's block that reads the value, where nothing else does.
const Op* OnlyReader(const Value* result, const Op* loop) {
  const Op* reader = nullptr;
  for (const ir::Use& use : result->uses()) {
    const Op* nest = use.user->block()->parent();
    if (use.user->kind() != OpKind::Element || nest->kind() != OpKind::Nest) return nullptr;
    if (nest->block() != loop->block() || (reader && reader != nest)) return nullptr;
    reader = nest;
  }
  return reader;
}

/// Whether the nest finds before the loop's end what it finds behind it, but for the loop's results.
bool DependsOnNothingLater(const Op* loop, const Op* nest) {
  std::unordered_set<const Value*> later;
  for (const Op* op = loop->next(); op != nest; op = op->next()) {
    if (!op || !op->info().has(ir::kPure)) return false;
    later.insert(op->results().begin(), op->results().end());
  }
  bool depends = false;
  ir::Walk(nest->region(), [&](const Op* op) {
    for (const Value* operand : op->operands()) depends |= later.contains(operand);
  });
  return !depends;
}

/// Whether the loop stores nothing, suspends nowhere, and loads from no tensor that the nest stores to.
bool LeavesMemoryTo(const Op* loop, const Op* nest) {
  std::unordered_set<const Value*> stored;
  for (Op* op : *nest->region()) {
    if (auto store = ir::DynAs<ir::StoreOp>(op)) stored.insert(ir::MemoryOf(store->tensor()));
  }
  bool leaves = true;
  ir::Walk(loop->region(), [&](const Op* op) {
    if (op->kind() == OpKind::Load) {
      if (stored.contains(ir::MemoryOf(ir::LoadOp(const_cast<Op*>(op)).tensor()))) leaves = false;
    } else if (!op->info().has(ir::kPure) && op->kind() != OpKind::Nest &&
               op->kind() != OpKind::Loop && op->kind() != OpKind::If &&
               op->kind() != OpKind::Yield && !op->info().has(ir::kElementwise)) {
      leaves = false;
    }
  });
  return leaves;
}

/// Whether the nest's body can take the register block's vectors one by one.
bool TakesVectors(const Expander& e, const Op* nest, const RegisterBlock& block) {
  if (!block.row || !block.outer.empty() || nest->operands().size() != 2) return false;
  if (nest->operands().back()->type()->axes[0] != *block.column) return false;
  if (nest->operand(0)->type()->axes[0] != *block.row) return false;
  LastAxis last(nest);
  return last.Vectorizes() && e.LanesAlong(*block.column, last.Bytes()) == block.lanes;
}

}  // namespace

const Op* EpilogueOf(const Expander& e, const Op* loop, size_t carried) {
  const Op* contraction = AccumulatorOf(loop, carried);
  const Op* nest = contraction ? OnlyReader(loop->result(carried), loop) : nullptr;
  if (!nest || !nest->results().empty() || !DependsOnNothingLater(loop, nest)) return nullptr;
  // Of several carried tiles each would store alone.
  if (loop->results().size() != 1 || !LeavesMemoryTo(loop, nest)) return nullptr;
  for (const Op* op : *nest->region()) {
    if (MayTrap(op)) return nullptr;
  }
  return TakesVectors(e, nest, RegisterBlock::Of(e, *contraction)) ? nest : nullptr;
}

const Op* LoopOfEpilogue(const Expander& e, const Op* nest) {
  for (const Op* op : *nest->region()) {
    if (op->kind() != OpKind::Element) continue;
    const Op* loop = op->operand(0)->def();
    if (!loop || loop->kind() != OpKind::Loop || loop->results().size() != 1) continue;
    if (EpilogueOf(e, loop, 0) == nest) return loop;
  }
  return nullptr;
}

}  // namespace kdl::cpu
