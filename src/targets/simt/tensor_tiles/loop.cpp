#include "targets/simt/tensor_tiles/loop.h"

#include <algorithm>
#include <utility>

#include "ir/matrix_instruction.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/simt/analysis/iteration_needs.h"
#include "targets/simt/analysis/mma_shapes.h"
#include "targets/simt/analysis/tensor_tile_factors.h"
#include "targets/simt/passes.h"
#include "targets/simt/rings/ring_loop.h"
#include "targets/simt/tensor_tiles/group_product.h"

// Expands the loop around a product whose factors are tensor tiles: tile copies (TMA) copy them from tensors
// into workgroup memory. Each factor has a ring buffer there. An iteration uses the same slot number in both
// ring buffers, and each slot number has two mbarriers. `full` signals that both tiles have arrived, and
// `empty` signals that all threads have finished reading them.
//
// An iteration begins its matrix instructions, waits for those of the previous iteration, releases the slots
// of the previous iteration, and begins the copies for a later iteration. If sums are kept apart from the
// accumulator, the iteration waits for its own instructions instead. Tile copies are impossible if the
// tensor's memory layout does not allow them, or if a range ends before the tensor does. In these cases,
// threads copy the elements themselves.
//
//   mbarrier_init %full {arrivals = 2} ; mbarrier_init %empty {arrivals = 256} ; barrier
//   loop %n in 0 .. 3 { … iterations 0, 1, 2 as below, without waits }
//   loop %k in 0 .. %K step 64 {                            iteration n = k / 64, slot s = n rem 4
//     loop {threads} { mbarrier_wait %full[s] phase n / 4
//                      … = mma %A, %B … slots (s, s) … ; mma_commit
//                      mma_wait (%acc) {ahead = 1} ; if n > 0 { mbarrier_arrive %empty[(n + 3) rem 4] } }
//     if (iteration n + 3 exists) {
//       if tile_copy_fits %a {
//         loop 0 .. 1 {threads} { mbarrier_wait %empty[…] phase … ; async_copy %a to %A … at %full } }
//       else { … ; proxy_fence ; barrier ; loop 0 .. 1 {threads} { mbarrier_arrive %full[…] } } … } }
//   loop {threads} { mma_wait (%acc) {ahead = 0} } ; barrier ; … mbarrier_invalidate %full, %empty
//
// If a core processes several blocks without a grid-wide barrier between them, the mbarriers stay valid, and
// iterations are counted over all blocks. After the loop, the copies for the first iterations of the next
// block begin, so that they run while threads finish the current block.
//
// If the code after the loop needs the sums in workgroup memory, threads load the sums from there before the
// first iteration and store them there after the last one.

namespace kdl::simt {

namespace {

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

/// Returns the number of slots in each ring. `bytes` is the total size of one slot of both rings, and `taken`
/// is the number of bytes of workgroup memory that are used for other purposes.
int64_t SlotCount(const PassContext& context, const Op& loop, int64_t bytes, int64_t taken) {
  bool says = loop.HasAttr(AttrKey::Ahead);
  int64_t wanted = says ? loop.attr<AttrKey::Ahead>() + 1 : context.Value(kTensorTileSlots);
  int64_t room = (SimtFactsOf(context).workgroup_bytes - kWorkgroupOfMbarriers - taken) / bytes;
  return std::clamp<int64_t>(std::min(wanted, room), kLeastSlots, kMostSlots);
}

}  // namespace

TensorTileLoop::TensorTileLoop(const PassContext& context, ir::Builder& b, WorkgroupTiles& tiles,
                               const Op* product, IterationMaker iteration)
    : b_(b),
      tiles_(tiles),
      product_(product),
      loop_(product->parent_region()->parent()),
      iteration_(std::move(iteration)),
      rings_{TensorTileRing(b, tiles, iteration_, product, 0),
             TensorTileRing(b, tiles, iteration_, product, 1)},
      mbarriers_(b, SlotCount(context, *loop_, rings_[0].bytes() + rings_[1].bytes(),
                              HasSumsInWorkgroupMemory(SimtFactsOf(context), tiles, product)
                                  ? tiles.WorkgroupBytes(product->result())
                                  : 0)),
      threads_(ir::ThreadsOf(ir::MapOf(*product))) {}

void TensorTileLoop::ExpandAlone(Value* acc) {
  Open();
  FirstIterations(b_.I64(0), false);
  Iterations(b_.I64(0), acc);
  Close();
}

// -- Blocks ---------------------------------------------------------------------------------------

bool TensorTileLoop::GoesOnWith(const Op* blocks) {
  bool plain = blocks->HasAttr(AttrKey::Blocks) && blocks->results().empty() &&
               loop_->parent_region() == blocks->region();
  for (size_t bound : {ir::LoopOp::at_lo, ir::LoopOp::at_hi, ir::LoopOp::at_step}) {
    const Value* value = loop_->operand(bound);
    plain &= !passes::IsInside(value, blocks) || ConstantOf(value);
  }
  ir::Walk(blocks->parent_region()->function()->body,
           [&](const Op* op) { plain &= !passes::MayTrap(op); });
  if (!plain) return false;
  for (Op* op : *loop_->region()) {
    if (op != product_ && !op->info().has(ir::kTerminator) && !AddSlice(blocks, op, of_block_))
      return false;
  }
  blocks_ = blocks;
  return true;
}

void TensorTileLoop::BeginBlocks() {
  for (size_t bound : {ir::LoopOp::at_lo, ir::LoopOp::at_hi, ir::LoopOp::at_step}) {
    Value* value = loop_->operand(bound);
    if (!iteration_.scalars.contains(value)) iteration_.expand(value->def());
  }
  Open();
  first_ = iteration_.Scalar(blocks_->operand(ir::LoopOp::at_lo));
  end_ = iteration_.Scalar(blocks_->operand(ir::LoopOp::at_hi));
  apart_ = iteration_.Scalar(blocks_->operand(ir::LoopOp::at_step));
  Value* one = b_.I64(1);
  Value* way = b_.Add(b_.Sub(hi_, lo_), step_);
  Value* iterations = b_.Div(b_.Sub(way, one), step_);
  iterations_ = b_.Select(b_.Lt(lo_, hi_), iterations, b_.I64(0));
  MakeIf(b_, b_.Lt(first_, end_), [&] { BeginNextBlock(first_, b_.I64(0), false); });
}

/// Begins the copies for the first iterations of `block`, which is not the current block.
void TensorTileLoop::BeginNextBlock(Value* block, Value* before, bool waits) {
  ir::ValueMap scalars = iteration_.scalars;
  WorkgroupTiles::Blocks blocks = tiles_.blocks();
  iteration_.scalars[blocks_->region()->param(0)] = block;
  for (Op* op : of_block_) iteration_.expand(op);
  FirstIterations(before, waits);
  iteration_.scalars = std::move(scalars);
  tiles_.SetBlocks(std::move(blocks));
}

void TensorTileLoop::ExpandInBlock(Value* acc) {
  Value* block = iteration_.Scalar(blocks_->region()->param(0));
  Value* number = b_.Div(b_.Sub(block, first_), apart_);
  Value* before = b_.Mul(number, iterations_);
  Iterations(before, acc);
  Value* after = b_.Add(before, iterations_);
  Value* goes_on = b_.Lt(apart_, b_.Sub(end_, block));
  MakeIf(b_, goes_on, [&] { BeginNextBlock(b_.Add(block, apart_), after, true); });
}

// -- Iterations -----------------------------------------------------------------------------------

void TensorTileLoop::Open() {
  lo_ = iteration_.Scalar(loop_->operand(ir::LoopOp::at_lo));
  hi_ = iteration_.Scalar(loop_->operand(ir::LoopOp::at_hi));
  step_ = iteration_.Scalar(loop_->operand(ir::LoopOp::at_step));
  for (TensorTileRing& ring : rings_) ring.New(mbarriers_.slots());
  full_ = mbarriers_.New("full");
  empty_ = mbarriers_.New("empty");
  OnFirstThread(b_, [&] {
    mbarriers_.Open(full_, 2);
    mbarriers_.Open(empty_, threads_);
  });
  b_.Create(OpKind::Barrier, {}, {});
}

void TensorTileLoop::Close() {
  b_.Create(OpKind::Barrier, {}, {});
  OnFirstThread(b_, [&] {
    for (Value* mbarriers : {full_, empty_}) mbarriers_.Close(mbarriers);
  });
}

/// Begins the copies for the first iterations of a loop. `before` is the number of iterations of earlier
/// blocks.
void TensorTileLoop::FirstIterations(Value* before, bool waits) {
  Value* zero = b_.I64(0);
  Value* iterations = b_.I64(mbarriers_.slots() - 1);
  MakeLoop(b_, {zero, iterations}, [&](Value* number) {
    Value* way = b_.Mul(step_, number);
    Value* exists = HasIteration(b_, lo_, hi_, way);
    MakeIf(b_, exists, [&] {
      Value* count = b_.Add(before, number);
      Bring(b_.Add(lo_, way), count, waits);
    });
  });
}

void TensorTileLoop::Iterations(Value* before, Value* acc) {
  Value* zero = b_.I64(0);
  Value* all = b_.I64(threads_);
  Value* registers = RegistersFor(b_, tiles_, product_, acc);
  bool fetches = registers != acc && !IsApart();
  if (fetches) AtBlocks([&](ProductBlock& block) { StoreRegisters(b_, block.Load(), registers); });
  Op* made = b_.Create(OpKind::Loop, {{lo_}, {hi_}, {step_}, {}}, {});
  Value* at = b_.AddParam(made->region(), b_.I64Type(), {});
  passes::FillRegion(b_, made->region(), [&]() -> Values {
    Value* here = b_.Div(b_.Sub(at, lo_), step_);
    Value* number = b_.Add(before, here);
    Enter(at);
    MakeWorkgroupLoop(b_, {zero, all},
                      [&](Value* thread) { Steps(thread, here, number, registers, acc); });
    Value* way = b_.Mul(step_, b_.I64(mbarriers_.slots() - 1));
    Value* goes_on = HasLaterIteration(b_, lo_, at, hi_, way);
    MakeIf(b_, goes_on, [&] {
      Value* later = b_.Add(number, b_.I64(mbarriers_.slots() - 1));
      Bring(b_.Add(at, way), later, true);
    });
    return {};
  });
  if (IsApart()) return;
  MakeWorkgroupLoop(b_, {zero, all}, [&](Value*) {
    MmaWait(registers, 0);
    if (!blocks_) return;
    // The next block reuses the mbarriers, so the last slot must also be released.
    MakeIf(b_, b_.Lt(lo_, hi_), [&] {
      Value* after = b_.Add(before, iterations_);
      mbarriers_.Arrive(empty_, b_.Sub(after, b_.I64(1)));
    });
  });
  if (fetches)
    AtBlocks([&](ProductBlock& block) { block.Store(LoadRegisters(b_, registers), acc); });
}

/// Calls `body` for each thread's block of the result.
void TensorTileLoop::AtBlocks(const std::function<void(ProductBlock& block)>& body) {
  Value* zero = b_.I64(0);
  Value* all = b_.I64(threads_);
  MakeWorkgroupLoop(b_, {zero, all}, [&](Value* thread) {
    ProductBlock block(b_, tiles_, product_);
    block.PlaceFor(thread);
    body(block);
  });
}

/// Emits the matrix instructions of iteration `here` of the loop. Counted over all blocks, this is iteration
/// `number`.
void TensorTileLoop::Steps(Value* thread, Value* here, Value* number, Value* registers,
                           Value* acc) {
  ProductBlock block(b_, tiles_, product_);
  mbarriers_.Await(full_, number);
  block.PlaceFor(thread);
  size_t first = HasAxis(0, block.axes()[0]) ? 0 : 1;
  Value* slot = mbarriers_.SlotForIteration(number);
  GroupProduct product(b_, tiles_, product_, thread, FactorAt(first, slot),
                       FactorAt(1 - first, slot));
  if (IsApart())
    return product.MultiplyAndWait(block, registers, acc,
                                   [&] { mbarriers_.Arrive(empty_, number); });
  product.Begin(registers);
  MmaWait(registers, 1);
  MakeIf(b_, b_.Gt(here, b_.I64(0)), [&] { mbarriers_.Arrive(empty_, b_.Sub(number, b_.I64(1))); });
}

/// Returns whether each iteration waits for its own matrix instructions, because sums are kept apart from the
/// accumulator.
bool TensorTileLoop::IsApart() const { return NamedMmaShape(product_)->instruction->apart > 0; }

void TensorTileLoop::MmaWait(Value* registers, int64_t ahead) {
  b_.Create(OpKind::MmaWait, {{registers}}, {}, {ir::MakeAttr<AttrKey::Ahead>(ahead)});
}

StepFactor TensorTileLoop::FactorAt(size_t factor, Value* slot) const {
  AxisId folded = product_->attr<AttrKey::Axes>()[0];
  return {rings_[factor].ring(), slot, rings_[factor].tensor_tile().column == folded};
}

bool TensorTileLoop::HasAxis(size_t factor, AxisId axis) const {
  return rings_[factor].tensor_tile().row == axis || rings_[factor].tensor_tile().column == axis;
}

/// Expands the ops that make the blocks and scalars of the iteration with index `at`.
void TensorTileLoop::Enter(Value* at) {
  iteration_.scalars[loop_->region()->param(0)] = at;
  for (Op* op : *loop_->region()) {
    if (op->info().has(ir::kTerminator) || op == product_ || op->kind() == OpKind::Elementwise)
      continue;
    if (op->results().empty() || !IsTileValue(op->result(0))) iteration_.expand(op);
  }
}

/// Fetches the factors for iteration `number`, which has the index `at`. If `waits` is true, first waits
/// until an earlier iteration has released the slots.
void TensorTileLoop::Bring(Value* at, Value* number, bool waits) {
  Enter(at);
  auto await_free = [&] {
    if (!waits) return;
    Value* slots = b_.I64(mbarriers_.slots());
    MakeIf(b_, b_.Ge(number, slots), [&] { mbarriers_.Await(empty_, b_.Sub(number, slots)); });
  };
  for (TensorTileRing& ring : rings_) {
    // One wait is enough for both tiles. The first tile always waits, however it is copied.
    auto before_tensor_tile = [&] {
      if (&ring == &rings_[0]) await_free();
    };
    ring.Bring(mbarriers_, full_, number, threads_, before_tensor_tile, await_free);
  }
}

bool HasSumsInWorkgroupMemory(const SimtFacts& facts, WorkgroupTiles& tiles, const Op* product) {
  return MbarrierOrderedBytes(product) + tiles.WorkgroupBytes(product->result()) <=
         facts.workgroup_bytes;
}

const Op* TensorTileProductIn(const Op* loop) {
  const Op* found = nullptr;
  for (const Op* op : *loop->region()) {
    const MmaShape* instruction = op->kind() == OpKind::Contraction ? NamedMmaShape(op) : nullptr;
    if (instruction && instruction->instruction->goes_on && IsTensorTileProduct(op)) found = op;
  }
  return found;
}

}  // namespace kdl::simt
