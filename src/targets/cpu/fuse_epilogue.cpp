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
#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/passes.h"

// fuse-epilogue: if an elementwise loop stores the result of a loop of contractions, moves the elementwise
// loop into the last iteration of that loop, directly after the contraction. In this way, the elements come
// from registers, or from a subtile of the buffer that has just been written.
//
//   loop %n in %lo .. %hi {
//     %t = load_tile %h
//     %u = contraction %a, %b into %t
//     store_tile %u to %h }
//   %s = load_tile %h
//   elementwise { %e = element %s ; store %e to … }
//   ->
//   %long = … ; loop %n in %lo .. %hi {
//     %last = …
//     %t = load_tile %h ; %u = contraction %a, %b into %t
//     if %last { elementwise { %e = element %u ; store %e to … } }
//     else { store_tile %u to %h } }
//   if %long { } else { %s = load_tile %h ; elementwise { … } }
//
// An elementwise loop with many ops would need registers that hold accumulators. In that case, it does not
// read %u in the last iteration. Instead, it reads the stored tile with %s = load_tile %h.

namespace kdl::cpu {

namespace {

/// An elementwise loop after a loop with contractions. It processes the result of one of these contractions.
struct Epilogue {
  Op* elementwise;
  Op* contraction;
  Value* tile;  ///< the tile that the elementwise loop loads from the contraction's buffer
};

bool Writes(const Op* op) { return op->kind() == OpKind::StoreTile || op->kind() == OpKind::Move; }

/// Whether the loop writes to no buffer from outside the loop except `tile_buffer`.
bool WritesOnly(const Op* loop, const Value* tile_buffer) {
  return !AnyBelow(loop->region(), [&](const Op* op) {
    return Writes(op) && op->operand(1) != tile_buffer && !IsInside(op->operand(1)->def(), loop);
  });
}

/// If a `load_tile` is the buffer's only use after the loop, returns the tile that it loads. Otherwise
/// returns null.
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
        (reader && reader != elementwise) || !ReadsOwnPoints(elementwise, use.user))
      return nullptr;
    reader = elementwise;
  }
  return reader;
}

/// Whether the elementwise loop would read the same values, except for `tile`, if it ran at the end of
/// `loop`.
bool DependsOnNothingLater(const Op* loop, const Op* elementwise, const Value* tile) {
  std::unordered_set<const Value*> later;
  std::unordered_set<const Value*> changed;  // tile buffers that are written between the two loops
  for (const Op* op = loop->next(); op != elementwise; op = op->next()) {
    if (!op || !(op->info().has(ir::kPure) || IsPlacing(op))) return false;
    if (Writes(op)) changed.insert(op->operand(1));
    bool is_there =
        op->kind() == OpKind::Const || (op->kind() == OpKind::LoadTile && op->result() != tile &&
                                        !changed.contains(op->operand(0)));
    if (!is_there) later.insert(op->results().begin(), op->results().end());
  }
  later.erase(tile);
  return !AnyBelow(elementwise->region(), [&](const Op* op) {
    return std::ranges::any_of(op->operands(), [&](const Value* v) { return later.contains(v); });
  });
}

/// Whether the loop stores nothing, does not suspend, and loads from no tensor that the elementwise loop
/// stores to.
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
  // With several accumulators, each would need a separate loop for its stores.
  if (tile_buffers.size() != 1 || !loop->results().empty() || !WritesOnly(loop, tile_buffers[0]))
    return {};
  Value* tile = OnlyReading(tile_buffers[0], loop);
  Op* elementwise = tile ? OnlyReader(tile) : nullptr;
  if (!elementwise || !elementwise->results().empty() ||
      !DependsOnNothingLater(loop, elementwise, tile))
    return {};
  if (!LeavesMemoryTo(loop, elementwise)) return {};
  for (const Op* op : *elementwise->region()) {
    if (MayTrap(op) || op->kind() == OpKind::ScanInLoop) return {};
  }
  Op* contraction = AccumulatorOf(loop, tile_buffers[0]);
  RegisterBlock block = RegisterBlock::ChooseFor(e, *contraction);
  bool by_rows = block.row && block.outer.empty() && WalkedAxes(elementwise)[0] == *block.row;
  if (!by_rows || !UsesVectors(e, elementwise, block)) return {};
  return Epilogue{elementwise, contraction, tile};
}

/// Whether the elementwise loop has few ops, so that a copy of it for each vector of a block is small and
/// leaves the accumulators in registers.
bool IsShort(const Op* elementwise) {
  constexpr int kFew = 4;
  int count = 0;
  for (const Op* op : *elementwise->region()) count += op->info().has(ir::kElementwise) ? 1 : 0;
  return count <= kFew;
}

/// Returns the distance between two numbers as a u64, which can represent every distance.
Value* Distance(ir::Builder& b, Value* from, Value* to) {
  return b.Cast(b.Sub(to, from), kdl::Scalar::U64);
}

/// Emits the condition that the loop adds enough terms to hide the latency of storing each register block to
/// memory. With fewer terms, memory bandwidth is the bottleneck, and it is better to store long rows.
Value* IsLong(ir::Builder& b, ir::LoopOp loop) {
  constexpr int64_t kLong = 128;
  Value* terms = Distance(b, loop.lo(), loop.hi());
  Value* enough = b.Ge(terms, b.Cast(b.I64(kLong), kdl::Scalar::U64));
  return b.And(b.Lt(loop.lo(), loop.hi()), enough);
}

/// Emits the condition that the current iteration of the loop is the last one.
Value* IsLast(ir::Builder& b, ir::LoopOp loop) {
  Value* left = Distance(b, loop->region()->param(0), loop.hi());
  return b.Le(left, b.Cast(loop.step(), kdl::Scalar::U64));
}

/// Copies the elementwise loop with its constants, and with those of its loads that read from buffers other than the
/// contraction's. `map` maps the contraction's tile to its replacement.
void CopyElementwiseLoop(ir::Builder& b, const Op* elementwise, ir::ValueMap map) {
  for (Value* value : passes::OutsideOperands(elementwise)) {
    const Op* def = value->def();
    bool is_got = def && (def->kind() == OpKind::LoadTile || def->kind() == OpKind::Const);
    if (is_got && !map.contains(value)) ir::Clone(value->def(), b, map);
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
  Op* after = MakeBranch(b, is_long);
  MoveInto(after->region(1), tile->def());
  MoveInto(after->region(1), elementwise);
}

}  // namespace

void RunFuseEpilogue(PassContext& context, ir::Function& kernel) {
  if (context.keeps_tiles) return;  // tiles would disappear
  KernelShape shape{kernel, ProcessorFactsOf(context), AxisOrder(kernel)};
  ir::Builder b(context.module);
  for (Op* loop : passes::OpsOfKind(kernel, OpKind::Loop)) {
    std::optional<Epilogue> epilogue = EpilogueOf(shape, loop);
    if (epilogue) Finish(b, loop, *epilogue);
  }
}

}  // namespace kdl::cpu
