#include "targets/simt/tensor_tiles/loop_products.h"

#include <algorithm>

#include "ir/matrix_instruction.h"
#include "ir/views.h"
#include "targets/simt/analysis/mma_shapes.h"
#include "targets/simt/analysis/tensor_tile_factors.h"
#include "targets/simt/tensor_tiles/fetch.h"

// Expands `wgmma` products in a loop. Each iteration fetches its tensor tiles, multiplies them, and waits for its
// matrix instructions; the pass pipeline-async-copies lets iterations overlap. Factors that threads compute, as in
// attention, are also stored in swizzled panels, and are made visible to the matrix instruction.
//
//   loop %j in 0 .. %S step 64 carry(…) {
//     … the fetch of %K (fetch.h)
//     loop {threads} { … = mma %Q, %K … slots (0, 0) … ; mma_commit ; mma_wait (%s) {ahead = 0} }
//     … elementwise loops that compute %P from %s ; loop {threads} { proxy_fence } ; barrier
//     … the fetch of %V
//     loop {threads} { … = mma %P, %V … } }

namespace kdl::simt {

using ir::AttrKey;
using ir::AxisId;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;
using passes::MakeWorkgroupLoop;
using passes::Values;

bool GroupMultiplies(const Op* op) {
  const MmaShape* instruction = op->kind() == OpKind::Contraction ? NamedMmaShape(op) : nullptr;
  return instruction && instruction->instruction->goes_on;
}

const Op* TensorTileProductIn(const Op* loop) {
  const Op* found = nullptr;
  for (const Op* op : *loop->region()) {
    if (GroupMultiplies(op) && IsTensorTileProduct(op)) found = op;
  }
  return found;
}

bool HasSumsInWorkgroupMemory(const SimtFacts& facts, WorkgroupTiles& tiles, const Op* product) {
  return MbarrierOrderedBytes(product) + tiles.WorkgroupBytes(product->result()) <=
         facts.workgroup_bytes;
}

LoopProducts::LoopProducts(ir::Builder& b, WorkgroupTiles& tiles, ir::ValueMap& scalars,
                           const Op* loop)
    : b_(b), tiles_(tiles), scalars_(scalars), loop_(loop), only_(TensorTileProductIn(loop)) {
  for (const Op* op : *loop->region()) {
    if (!GroupMultiplies(op)) continue;
    for (size_t factor : {0, 1}) {
      if (ComesAsTensorTile(op, factor)) tensor_tiles_[op->operand(factor)] = {op, factor};
    }
  }
}

void LoopProducts::Fetch(const Value* tile) {
  TensorTile& fetched = tensor_tiles_.at(tile);
  fetched.buffer = TensorTileFetch(b_, tiles_, scalars_, fetched.product, fetched.factor).Emit();
}

namespace {

/// Calls `body` for each thread's block of the product's result.
void AtBlocks(ir::Builder& b, WorkgroupTiles& tiles, const Op* product,
              const std::function<void(ProductBlock& block)>& body) {
  Value* zero = b.I64(0);
  Value* all = b.I64(ir::ThreadsOf(ir::MapOf(*product)));
  MakeWorkgroupLoop(b, {zero, all}, [&](Value* thread) {
    ProductBlock block(b, tiles, product);
    block.PlaceFor(thread);
    body(block);
  });
}

}  // namespace

void LoopProducts::Open(Value* target) {
  // If sums are kept apart from the accumulator, each iteration adds them to the target.
  if (!only_ || NamedMmaShape(only_)->instruction->apart > 0) return;
  registers_ = RegistersFor(b_, tiles_, only_, target);
  if (!MovesSums(target)) return;
  AtBlocks(b_, tiles_, only_,
           [&](ProductBlock& block) { StoreRegisters(b_, block.Load(), registers_); });
}

void LoopProducts::Close(Value* target) {
  if (!MovesSums(target)) return;
  AtBlocks(b_, tiles_, only_,
           [&](ProductBlock& block) { block.Store(LoadRegisters(b_, registers_), target); });
}

StepFactor LoopProducts::FactorAt(const Op* product, size_t factor) {
  AxisId folded = product->attr<AttrKey::Axes>()[0];
  const Value* tile = product->operand(factor);
  Value* slot = b_.I64(0);
  auto found = tensor_tiles_.find(tile);
  if (found != tensor_tiles_.end())
    return {found->second.buffer, slot, TensorTileFactorOf(product, factor)->column == folded};
  return {tiles_.BufferOf(tile), slot, tiles_.IsLast(tile, folded)};
}

void LoopProducts::Multiply(const Op* product, Value* target) {
  Value* registers = registers_ ? registers_ : RegistersFor(b_, tiles_, product, target);
  const ir::AxisList& of_first = product->operand(0)->type()->axes;
  AxisId first = product->result()->type()->axes[0];
  size_t rows = std::ranges::find(of_first, first) != of_first.end() ? 0 : 1;
  Value* zero = b_.I64(0);
  Value* all = b_.I64(ir::ThreadsOf(ir::MapOf(*product)));
  MakeWorkgroupLoop(b_, {zero, all}, [&](Value* thread) {
    ProductBlock block(b_, tiles_, product);
    block.PlaceFor(thread);
    StepFactor of_columns = FactorAt(product, 1 - rows);
    GroupProduct group(b_, tiles_, product, thread, FactorAt(product, rows), of_columns);
    registers_ ? group.AddAndWait(registers) : group.MultiplyAndWait(block, registers, target);
  });
}

namespace {

/// Sets elements beyond the ends of blocks to zero, because the matrix instructions also read them.
void ZeroEnds(ir::Builder& b, WorkgroupTiles& tiles, const Op* elementwise, const Value* tile) {
  const ir::AxisList& axes = tile->type()->axes;
  Values sizes;
  Value* whole = nullptr;
  int64_t count = 1;
  for (AxisId axis : axes) {
    sizes.push_back(tiles.FactsAt(elementwise, axis).size);
    Value* is_whole = b.Eq(sizes.back(), b.I64(tiles.Extent(axis)));
    whole = whole ? b.And(whole, is_whole) : is_whole;
    count *= tiles.Extent(axis);
  }
  MakeIf(b, b.Make(OpKind::Not, {whole}, whole->type()), [&] {
    Value* zero = b.I64(0);
    Value* points = b.I64(count);
    MakeWorkgroupLoop(b, {zero, points}, [&](Value* point) {
      Value* columns = b.I64(tiles.Extent(axes[1]));
      Values at = {b.Div(point, columns), b.Rem(point, columns)};
      Value* after_columns = b.Ge(at[1], sizes[1]);
      Value* after = b.Or(b.Ge(at[0], sizes[0]), after_columns);
      MakeIf(b, after,
             [&] { tiles.Store(b.Bits(tile->type()->scalar, 0), tile, tiles.BufferOf(tile), at); });
    });
  });
}

}  // namespace

void FinishFactors(ir::Builder& b, WorkgroupTiles& tiles, const Op* elementwise,
                   std::span<const Value* const> made, int64_t threads) {
  auto is_factor = [&](const Value* tile) { return tiles.LiesInPanels(tile); };
  for (const Value* tile : made) {
    if (is_factor(tile)) ZeroEnds(b, tiles, elementwise, tile);
  }
  if (std::ranges::none_of(made, is_factor)) return;
  Value* zero = b.I64(0);
  Value* all = b.I64(threads);
  MakeWorkgroupLoop(b, {zero, all}, [&](Value*) { b.Create(OpKind::ProxyFence, {}, {}); });
}

}  // namespace kdl::simt
