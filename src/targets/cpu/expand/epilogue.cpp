#include <unordered_set>

#include "ir/tensor_view.h"
#include "passes/rewrite.h"
#include "targets/cpu/analysis/accumulators.h"
#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/expand/expander.h"

// A nest that stores what a loop of contractions has made follows each register block in the loop's last turn: its
// elements come from registers, or from a part of the tile that was written just before.
//
//   loop … { %t = get %h ; %u = contraction %a, %b into %t ; put %u to %h }
//   %s = get %h ; nest { %e = element %s ; store %e to %c[%i, %j] }
//   ->  loop … { for each register block { … ; if the last turn { the nest, for this block } else { keep it } } }

namespace kdl::cpu {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

bool Writes(const Op* op) { return op->kind() == OpKind::Put || op->kind() == OpKind::Move; }

/// Whether the loop writes this home alone of those around it.
bool WritesOnly(const Op* loop, const Value* home) {
  bool only = true;
  ir::Walk(loop->region(), [&](const Op* op) {
    if (!Writes(op) || op->operand(1) == home) return;
    const Op* around = op->operand(1)->def();
    while (around && around != loop) around = around->block()->parent();
    only = only && around == loop;
  });
  return only;
}

/// Whether the op stands behind the loop, or has its place there.
bool IsBehind(const Op* op, const Op* loop) {
  while (op->block() != loop->block()) op = op->block()->parent();
  for (const Op* before = loop; before; before = before->prev()) {
    if (before == op) return false;
  }
  return true;
}

/// What the one nest behind the loop that reads the home has got of it, where nothing else does.
const Value* OnlyReading(const Value* home, const Op* loop) {
  if (home->def()->block() != loop->block()) return nullptr;
  const Value* tile = nullptr;
  for (const ir::Use& use : home->uses()) {
    if (!IsBehind(use.user, loop)) continue;
    bool reads = use.user->kind() == OpKind::Get && use.user->block() == loop->block();
    if (tile || !reads) return nullptr;
    tile = use.user->result();
  }
  return tile;
}

const Op* OnlyReader(const Value* tile) {
  const Op* reader = nullptr;
  for (const ir::Use& use : tile->uses()) {
    const Op* nest = use.user->block()->parent();
    if (use.user->kind() != OpKind::Element || nest->kind() != OpKind::Nest) return nullptr;
    if (nest->block() != tile->def()->block() || (reader && reader != nest)) return nullptr;
    reader = nest;
  }
  return reader;
}

/// Whether the nest finds before the loop's end what it finds behind it, but for that tile.
bool DependsOnNothingLater(const Op* loop, const Op* nest, const Value* tile) {
  std::unordered_set<const Value*> later;
  std::unordered_set<const Value*> changed;  // homes
  for (const Op* op = loop->next(); op != nest; op = op->next()) {
    if (!op || !(op->info().has(ir::kPure) || IsPlacing(op))) return false;
    if (Writes(op)) changed.insert(op->operand(1));
    bool is_there =
        op->kind() == OpKind::Get && op->result() != tile && !changed.contains(op->operand(0));
    if (!is_there) later.insert(op->results().begin(), op->results().end());
  }
  later.erase(tile);
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
    } else if (!op->info().has(ir::kPure) && !IsPlacing(op) && op->kind() != OpKind::Nest &&
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

std::optional<Epilogue> EpilogueOf(const Expander& e, const Op* loop) {
  std::vector<const Value*> homes = AccumulatedIn(loop);
  // Of several each would store alone.
  if (homes.size() != 1 || !loop->results().empty() || !WritesOnly(loop, homes[0])) return {};
  const Value* tile = OnlyReading(homes[0], loop);
  const Op* nest = tile ? OnlyReader(tile) : nullptr;
  if (!nest || !nest->results().empty() || !DependsOnNothingLater(loop, nest, tile)) return {};
  if (!LeavesMemoryTo(loop, nest)) return {};
  for (const Op* op : *nest->region()) {
    if (MayTrap(op)) return {};
  }
  const Op* contraction = AccumulatorOf(loop, homes[0]);
  if (!TakesVectors(e, nest, RegisterBlock::Of(e, *contraction))) return {};
  return Epilogue{nest, contraction, tile};
}

const Op* LoopOfEpilogue(const Expander& e, const Op* nest) {
  for (const Op* op : *nest->region()) {
    if (op->kind() != OpKind::Element || op->operand(0)->def()->kind() != OpKind::Get) continue;
    const Value* home = op->operand(0)->def()->operand(0);
    const Op* loop = nest->prev();
    while (loop && !(loop->kind() == OpKind::Loop && AccumulatorOf(loop, home)))
      loop = loop->prev();
    std::optional<Epilogue> epilogue = loop ? EpilogueOf(e, loop) : std::nullopt;
    if (epilogue && epilogue->nest == nest) return loop;
  }
  return nullptr;
}

}  // namespace kdl::cpu
