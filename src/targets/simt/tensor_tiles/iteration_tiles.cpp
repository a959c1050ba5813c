#include "targets/simt/tensor_tiles/iteration_tiles.h"

#include <algorithm>
#include <utility>

#include "ir/matrix_instruction.h"
#include "ir/views.h"
#include "support/check.h"
#include "targets/simt/analysis/iteration_needs.h"
#include "targets/simt/analysis/mma_shapes.h"
#include "targets/simt/rings/ring_loop.h"
#include "targets/simt/tensor_tiles/group_product.h"

// Expands `wgmma` products in a loop that also contains other ops, as in attention. Each tensor tile has its
// own ring buffer and mbarriers. Each iteration begins the copies for the next iteration, into slots that the
// previous iteration has released. A product waits for its tensor tiles, and then for its own matrix
// instructions, because the code after the product reads its result. Factors that threads compute are also
// stored in swizzled panels, and are made visible to the matrix instruction.
//
//   loop %j in 0 .. %S step 64 carry(…) {                      iteration n = j / 64, slot s = n rem 2
//     if (iteration n + 1 exists) {
//       if n > 0 { mbarrier_wait %k_empty[(n - 1) rem 2] … } async_copy %k … at %k_full ; the same for %v }
//     loop {threads} { mbarrier_wait %k_full[s] phase n / 2
//                      … = mma %Q, %K … slots (0, s) … ; mma_commit ; mma_wait (%s) {ahead = 0}
//                      mbarrier_arrive %k_empty[s] }
//     … elementwise loops that compute %P from %s ; loop {threads} { proxy_fence } ; barrier
//     loop {threads} { … = mma %P, %V … } }

namespace kdl::simt {

using ir::AttrKey;
using ir::AxisId;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;
using passes::MakeLoop;
using passes::MakeWorkgroupLoop;
using passes::OnFirstThread;
using passes::Values;

bool GroupMultiplies(const Op* op) {
  const MmaShape* instruction = op->kind() == OpKind::Contraction ? NamedMmaShape(op) : nullptr;
  return instruction && instruction->instruction->goes_on;
}

namespace {

/// Returns the number of slots of each ring: as many as the source asks for, as far as there is room.
int64_t SlotsOf(const Op* loop, int64_t workgroup_bytes) {
  if (!loop->HasAttr(AttrKey::Ahead)) return kLeastSlots;
  int64_t room = SlotsWithRoom(loop, workgroup_bytes);
  return std::clamp(loop->attr<AttrKey::Ahead>() + 1, kLeastSlots, room);
}

}  // namespace

IterationTensorTiles::IterationTensorTiles(ir::Builder& b, WorkgroupTiles& tiles,
                                           int64_t workgroup_bytes, const Op* loop,
                                           IterationMaker iteration)
    : b_(b),
      tiles_(tiles),
      loop_(loop),
      iteration_(std::move(iteration)),
      mbarriers_(b, SlotsOf(loop, workgroup_bytes)) {
  Find();
}

void IterationTensorTiles::Find() {
  for (Op* op : *loop_->region()) {
    if (!GroupMultiplies(op)) continue;
    for (size_t factor : {0, 1}) {
      if (!ComesAsTensorTile(op, factor)) continue;
      TensorTile tensor_tile{op,
                             factor,
                             TensorTileRing(b_, tiles_, iteration_, op, factor),
                             ir::ThreadsOf(ir::MapOf(*op)),
                             {}};
      AddSlice(loop_, op->operand(factor)->def(), tensor_tile.needed);
      tensor_tiles_.push_back(std::move(tensor_tile));
    }
  }
}

bool IterationTensorTiles::Brings(const Value* tile) const {
  return std::ranges::any_of(tensor_tiles_, [&](const TensorTile& tensor_tile) {
    return tensor_tile.product->operand(tensor_tile.factor) == tile;
  });
}

IterationTensorTiles::TensorTile* IterationTensorTiles::FindTensorTile(const Op* product,
                                                                       size_t factor) {
  auto found = std::ranges::find_if(tensor_tiles_, [&](const TensorTile& tensor_tile) {
    return tensor_tile.product == product && tensor_tile.factor == factor;
  });
  return found == tensor_tiles_.end() ? nullptr : &*found;
}

// -- Iterations -----------------------------------------------------------------------------------

void IterationTensorTiles::Open() {
  lo_ = iteration_.Scalar(loop_->operand(ir::LoopOp::at_lo));
  hi_ = iteration_.Scalar(loop_->operand(ir::LoopOp::at_hi));
  step_ = iteration_.Scalar(loop_->operand(ir::LoopOp::at_step));
  for (TensorTile& tensor_tile : tensor_tiles_) {
    tensor_tile.ring.New(mbarriers_.slots());
    tensor_tile.full = mbarriers_.New("full");
    tensor_tile.empty = mbarriers_.New("empty");
  }
  OnFirstThread(b_, [&] {
    for (TensorTile& tensor_tile : tensor_tiles_) {
      mbarriers_.Open(tensor_tile.full, 1);
      mbarriers_.Open(tensor_tile.empty, tensor_tile.threads);
    }
  });
  b_.Create(OpKind::Barrier, {}, {});
  Value* zero = b_.I64(0);
  Value* iterations = b_.I64(mbarriers_.slots() - 1);
  MakeLoop(b_, {zero, iterations}, [&](Value* number) {
    Value* way = b_.Mul(step_, number);
    Value* exists = HasIteration(b_, lo_, hi_, way);
    MakeIf(b_, exists, [&] {
      Value* at = b_.Add(lo_, way);
      for (TensorTile& tensor_tile : tensor_tiles_) Bring(tensor_tile, at, number, nullptr);
    });
  });
}

void IterationTensorTiles::BeginIteration(Value* at) {
  number_ = b_.Div(b_.Sub(at, lo_), step_);
  Value* way = b_.Mul(step_, b_.I64(mbarriers_.slots() - 1));
  Value* goes_on = HasLaterIteration(b_, lo_, at, hi_, way);
  MakeIf(b_, goes_on, [&] {
    Value* later = b_.Add(number_, b_.I64(mbarriers_.slots() - 1));
    Value* there = b_.Add(at, way);
    for (TensorTile& tensor_tile : tensor_tiles_) Bring(tensor_tile, there, later, number_);
  });
  iteration_.scalars[loop_->region()->param(0)] = at;
}

/// Fetches a tensor tile for iteration `number`, which has the index `at`. The fetch is emitted in iteration
/// `present`. If `present` is null, all slots are known to be free.
void IterationTensorTiles::Bring(TensorTile& tensor_tile, Value* at, Value* number,
                                 Value* present) {
  iteration_.scalars[loop_->region()->param(0)] = at;
  for (Op* op : tensor_tile.needed) iteration_.expand(op);
  auto await_free = [&] {
    if (!present) return;
    Value* is_later = b_.Gt(present, b_.I64(0));
    MakeIf(b_, is_later, [&] { mbarriers_.Await(tensor_tile.empty, b_.Sub(present, b_.I64(1))); });
  };
  tensor_tile.ring.Bring(mbarriers_, tensor_tile.full, number, tensor_tile.threads, await_free,
                         await_free);
}

void IterationTensorTiles::Close() {
  b_.Create(OpKind::Barrier, {}, {});
  OnFirstThread(b_, [&] {
    for (TensorTile& tensor_tile : tensor_tiles_) {
      mbarriers_.Close(tensor_tile.full);
      mbarriers_.Close(tensor_tile.empty);
    }
  });
}

// -- Products -------------------------------------------------------------------------------------

StepFactor IterationTensorTiles::FactorAt(const Op* product, size_t factor) {
  AxisId folded = product->attr<AttrKey::Axes>()[0];
  if (TensorTile* tensor_tile = FindTensorTile(product, factor))
    return {tensor_tile->ring.ring(), mbarriers_.SlotForIteration(number_),
            tensor_tile->ring.tensor_tile().column == folded};
  const Value* tile = product->operand(factor);
  return {tiles_.BufferOf(tile), b_.I64(0), tiles_.IsLast(tile, folded)};
}

void IterationTensorTiles::Multiply(const Op* product, Value* target) {
  ProductBlock block(b_, tiles_, product);
  Value* registers = RegistersFor(b_, tiles_, product, target);
  const ir::AxisList& of_first = product->operand(0)->type()->axes;
  size_t rows = std::ranges::find(of_first, block.axes()[0]) != of_first.end() ? 0 : 1;
  Value* zero = b_.I64(0);
  Value* all = b_.I64(block.threads());
  MakeWorkgroupLoop(b_, {zero, all}, [&](Value* thread) {
    for (size_t factor : {0, 1}) {
      if (TensorTile* tensor_tile = FindTensorTile(product, factor))
        mbarriers_.Await(tensor_tile->full, number_);
    }
    block.PlaceFor(thread);
    GroupProduct(b_, tiles_, product, thread, FactorAt(product, rows), FactorAt(product, 1 - rows))
        .MultiplyAndWait(block, registers, target, [&] {
          for (size_t factor : {0, 1}) {
            if (TensorTile* tensor_tile = FindTensorTile(product, factor))
              mbarriers_.Arrive(tensor_tile->empty, number_);
          }
        });
  });
}

// -- Factors that threads compute -----------------------------------------------------------------

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
