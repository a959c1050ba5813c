#include <algorithm>
#include <optional>
#include <unordered_set>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/analysis/accumulators.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/passes.h"

// fuse-epilogue: a elementwise loop that stores what a loop of contractions has made follows the contraction in the loop's last turn: its
// elements come from registers then, or from a part of the tile buffer that was written just before.
//
//   loop %n in %lo .. %hi {                         %long = … ; loop %n in %lo .. %hi {
//     %t = load_tile %h                                     %last = …
//     %u = contraction %a, %b into %t         ->      %t = load_tile %h ; %u = contraction %a, %b into %t
//     store_tile %u to %h }                                  if %last { elementwise loop { %e = element %u ; store %e to … } }
//   %s = load_tile %h                                       else { store_tile %u to %h } }
//   elementwise loop { %e = element %s ; store %e to … }        if %long { } else { %s = load_tile %h ; elementwise loop { … } }
//
// A elementwise loop of many ops would take the accumulators' registers: it reads what is put, %s = load_tile %h, in the last turn.

namespace kdl::cpu {

namespace {

/// A elementwise loop after a loop, for what one contraction in it has made.
struct Epilogue {
  Op* elementwise;
  Op* contraction;
  Value* tile;  ///< what the elementwise loop has got of the contraction's tile buffer
};

bool Writes(const Op* op) { return op->kind() == OpKind::StoreTile || op->kind() == OpKind::Move; }

/// Whether the loop writes this tile buffer alone of those around it.
bool WritesOnly(const Op* loop, const Value* tile_buffer) {
  return !AnyBelow(loop->region(), [&](const Op* op) {
    return Writes(op) && op->operand(1) != tile_buffer && !IsInside(op->operand(1)->def(), loop);
  });
}

/// What the one elementwise loop after the loop that reads the tile buffer has got of it, where nothing else does.
Value* OnlyReading(const Value* tile_buffer, const Op* loop) {
  if (tile_buffer->def()->parent_region() != loop->parent_region()) return nullptr;
  Value* tile = nullptr;
  for (const ir::Use& use : tile_buffer->uses()) {
    if (!ComesAfter(AncestorIn(loop->parent_region(), use.user), loop)) continue;
    bool reads =
        use.user->kind() == OpKind::LoadTile && use.user->parent_region() == loop->parent_region();
    if (tile || !reads) return nullptr;
    tile = use.user->result();
  }
  return tile;
}

Op* OnlyReader(const Value* tile) {
  Op* reader = nullptr;
  for (const ir::Use& use : tile->uses()) {
    Op* elementwise = use.user->parent_region()->parent();
    if (use.user->kind() != OpKind::Element || elementwise->kind() != OpKind::Elementwise)
      return nullptr;
    if (elementwise->parent_region() != tile->def()->parent_region() ||
        (reader && reader != elementwise))
      return nullptr;
    reader = elementwise;
  }
  return reader;
}

/// Whether the elementwise loop finds before the loop's end what it finds after it, but for that tile.
bool DependsOnNothingLater(const Op* loop, const Op* elementwise, const Value* tile) {
  std::unordered_set<const Value*> later;
  std::unordered_set<const Value*> changed;  // tile buffers
  for (const Op* op = loop->next(); op != elementwise; op = op->next()) {
    if (!op || !(op->info().has(ir::kPure) || IsPlacing(op))) return false;
    if (Writes(op)) changed.insert(op->operand(1));
    bool is_there =
        op->kind() == OpKind::LoadTile && op->result() != tile && !changed.contains(op->operand(0));
    if (!is_there) later.insert(op->results().begin(), op->results().end());
  }
  later.erase(tile);
  return !AnyBelow(elementwise->region(), [&](const Op* op) {
    return std::ranges::any_of(op->operands(), [&](const Value* v) { return later.contains(v); });
  });
}

/// Whether the loop stores nothing, suspends nowhere, and loads from no tensor that the elementwise loop stores to.
bool LeavesMemoryTo(const Op* loop, const Op* elementwise) {
  std::unordered_set<const Value*> stored;
  for (Op* op : *elementwise->region()) {
    if (auto store = ir::DynAs<ir::StoreOp>(op)) stored.insert(ir::MemoryOf(store->tensor()));
  }
  return !AnyBelow(loop->region(), [&](const Op* op) {
    if (op->kind() == OpKind::Load) return stored.contains(ir::MemoryOf(TensorOf(op)));
    return !op->info().has(ir::kPure) && !IsPlacing(op) && op->kind() != OpKind::Elementwise &&
           op->kind() != OpKind::Loop && op->kind() != OpKind::If && op->kind() != OpKind::Yield &&
           !op->info().has(ir::kElementwise);
  });
}

std::optional<Epilogue> EpilogueOf(const KernelShape& e, const Op* loop) {
  std::vector<const Value*> tile_buffers = AccumulatedIn(loop);
  // Of several each would store alone.
  if (tile_buffers.size() != 1 || !loop->results().empty() || !WritesOnly(loop, tile_buffers[0]))
    return {};
  Value* tile = OnlyReading(tile_buffers[0], loop);
  Op* elementwise = tile ? OnlyReader(tile) : nullptr;
  if (!elementwise || !elementwise->results().empty() ||
      !DependsOnNothingLater(loop, elementwise, tile))
    return {};
  if (!LeavesMemoryTo(loop, elementwise)) return {};
  for (const Op* op : *elementwise->region()) {
    if (MayTrap(op)) return {};
  }
  Op* contraction = AccumulatorOf(loop, tile_buffers[0]);
  RegisterBlock block = RegisterBlock::Of(e, *contraction);
  bool by_rows = block.row && block.outer.empty() && WalkedAxes(elementwise)[0] == *block.row;
  if (!by_rows || !UsesVectors(e, elementwise, block)) return {};
  return Epilogue{elementwise, contraction, tile};
}

/// Few enough ops that a copy for each vector of a block is small, and leaves the accumulators in registers.
bool IsShort(const Op* elementwise) {
  constexpr int kFew = 4;
  int count = 0;
  for (const Op* op : *elementwise->region()) count += op->info().has(ir::kElementwise) ? 1 : 0;
  return count <= kFew;
}

/// The distance of two numbers as a u64, which holds every one.
Value* Distance(ir::Builder& b, Value* from, Value* to) {
  return b.Cast(b.Sub(to, from), kdl::Scalar::U64);
}

/// Whether the loop has so many terms that stores to memory, a register block at a time, hide behind them. With fewer the
/// memory's speed counts, which likes long rows better.
Value* IsLong(ir::Builder& b, ir::LoopOp loop) {
  constexpr int64_t kLong = 128;
  Value* terms = Distance(b, loop.lo(), loop.hi());
  Value* enough = b.Ge(terms, b.Cast(b.I64(kLong), kdl::Scalar::U64));
  return b.And(b.Lt(loop.lo(), loop.hi()), enough);
}

/// Whether no number comes after the loop's present one.
Value* IsLast(ir::Builder& b, ir::LoopOp loop) {
  Value* left = Distance(b, loop->region()->param(0), loop.hi());
  return b.Le(left, b.Cast(loop.step(), kdl::Scalar::U64));
}

/// The elementwise loop once more, and what it gets of other tile buffers than the contraction's; the tile is what `map` has for it.
void CopyElementwiseLoop(ir::Builder& b, const Op* elementwise, ir::ValueMap map) {
  for (Value* value : passes::OutsideOperands(elementwise)) {
    bool is_got = value->def() && value->def()->kind() == OpKind::LoadTile && !map.contains(value);
    if (is_got) ir::Clone(value->def(), b, map);
  }
  ir::Clone(elementwise, b, map);
}

void Finish(ir::Builder& b, Op* op, const Epilogue& epilogue) {
  ir::LoopOp loop(op);
  const auto& [elementwise, contraction, tile] = epilogue;
  b.SetInsertionPoint(op);
  b.set_loc(elementwise->loc());
  Value* is_long = IsLong(b, loop);
  b.SetInsertionPoint(contraction);
  Value* is_last = b.And(is_long, IsLast(b, loop));
  Op* put = contraction->next();
  b.SetInsertionPoint(put->next());
  Op* branch = MakeBranch(b, is_last);
  b.SetInsertionPoint(branch->region(0)->terminator());
  ir::ValueMap map;
  if (IsShort(elementwise)) {
    map[tile] = contraction->result();
    MoveInto(branch->region(1), put);
  } else {
    ir::Clone(tile->def(), b, map);
  }
  CopyElementwiseLoop(b, elementwise, map);
  b.SetInsertionPoint(elementwise);
  Op* behind = MakeBranch(b, is_long);
  MoveInto(behind->region(1), tile->def());
  MoveInto(behind->region(1), elementwise);
}

}  // namespace

void RunFuseEpilogue(PassContext& context, ir::Function& kernel) {
  KernelShape shape{kernel, FactsOf(context), AxisOrder(kernel)};
  ir::Builder b(context.module);
  for (Op* loop : passes::OpsOfKind(kernel, OpKind::Loop)) {
    std::optional<Epilogue> epilogue = EpilogueOf(shape, loop);
    if (epilogue) Finish(b, loop, *epilogue);
  }
}

}  // namespace kdl::cpu
