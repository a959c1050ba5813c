#include "targets/simt/rings/ring_loop.h"

#include <algorithm>

#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "support/check.h"

namespace kdl::simt {

using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;

namespace {

/// A kind of op that accesses a buffer, and the operand segments that contain the buffer and the index.
struct BufferUse {
  OpKind kind;
  size_t buffer;
  size_t index;
};

constexpr BufferUse kUses[] = {
    {OpKind::BufferLoad, ir::BufferLoadOp::at_buffer, ir::BufferLoadOp::at_index},
    {OpKind::BufferStore, ir::BufferStoreOp::at_buffer, ir::BufferStoreOp::at_index},
    {OpKind::CopyIn, ir::CopyInOp::at_buffer, ir::CopyInOp::at_place},
    {OpKind::CopyOut, ir::CopyOutOp::at_buffer, ir::CopyOutOp::at_place},
    {OpKind::AsyncCopy, ir::AsyncCopyOp::at_buffer, ir::AsyncCopyOp::at_place},
    {OpKind::AwaitCopies, ir::AwaitCopiesOp::at_buffer, ir::AwaitCopiesOp::at_part}};

const BufferUse* FindUse(OpKind kind) {
  const auto* found = std::ranges::find(kUses, kind, &BufferUse::kind);
  return found == std::end(kUses) ? nullptr : found;
}

/// Makes an `mma` op read a factor from a slot of `ring`. The op names the slot of its first factor before
/// that of the second.
void MoveFactor(Op* step, const Value* old, Value* ring, Value* slot) {
  for (size_t factor : {0, 1}) {
    if (step->operand(factor) != old) continue;
    ir::MmaOp view(step);
    std::vector<Value*> slots(view.slots().begin(), view.slots().end());
    slots.insert(factor == 0 ? slots.begin() : slots.end(), slot);
    step->SetOperand(factor, ring);
    step->SetSegment(ir::MmaOp::at_slots, slots);
  }
}

}  // namespace

bool HasPlainUses(const Op* buffer) {
  return std::ranges::all_of(buffer->result()->uses(), [](const ir::Use& use) {
    OpKind kind = use.user->kind();
    return FindUse(kind) || kind == OpKind::Mma || kind == OpKind::AsyncCopyWait;
  });
}

const Value* SlotIndexOf(const Op* op, const Value* buffer) {
  if (op->kind() == OpKind::Mma) {
    ir::MmaOp step(const_cast<Op*>(op));
    if (buffer->type()->dims.size() != 3) return nullptr;
    return buffer == step.a() ? step.slots().front() : step.slots().back();
  }
  const BufferUse* use = FindUse(op->kind());
  if (!use || op->operand(op->SegmentBegin(use->buffer)) != buffer) return nullptr;
  auto index = op->Segment(use->index);
  return index.empty() ? nullptr : index[0];
}

void SetSlot(Op* op, size_t buffer_at, size_t index_at, Value* buffer, Value* slot) {
  std::vector<Value*> index = {slot};
  auto old = op->Segment(index_at);
  index.insert(index.end(), old.begin(), old.end());
  op->SetOperand(op->SegmentBegin(buffer_at), buffer);
  op->SetSegment(index_at, index);
}

void MoveUse(Op* user, const Value* old, Value* ring, Value* slot) {
  if (user->kind() == OpKind::Mma) return MoveFactor(user, old, ring, slot);
  const BufferUse* use = FindUse(user->kind());
  KDL_CHECK(use, "'{}' cannot access a slot", user->info().spelling);
  SetSlot(user, use->buffer, use->index, ring, slot);
}

namespace {

/// Returns whether `way` is less than the distance from `from` to `to`, which may exceed the range of i64.
Value* IsNearer(ir::Builder& b, Value* way, Value* from, Value* to) {
  Value* unsigned_way = b.Cast(way, Scalar::U64);
  return b.Lt(unsigned_way, b.Cast(b.Sub(to, from), Scalar::U64));
}

}  // namespace

// From 0, the distance is the end itself. If it is negative, there is no iteration.
Value* HasIteration(ir::Builder& b, Value* lo, Value* hi, Value* way) {
  if (passes::ConstantOf(lo) == 0) return b.Lt(way, b.Sub(hi, lo));
  Value* begins = b.Lt(lo, hi);
  return b.And(begins, IsNearer(b, way, lo, hi));
}

Value* HasLaterIteration(ir::Builder& b, Value* lo, Value* at, Value* hi, Value* way) {
  if (passes::ConstantOf(lo) == 0) return b.Lt(way, b.Sub(hi, at));
  return IsNearer(b, way, at, hi);
}

RingLoop::RingLoop(ir::Builder& b, Op* loop, int64_t ahead) : b_(b), loop_(loop), ahead_(ahead) {
  b_.set_loc(loop_->loc());
  b_.SetInsertionPoint(loop_->region()->first());
  Value* number = b_.Div(b_.Sub(iteration(), lo()), step());
  slot_ = b_.Rem(number, b_.I64(ahead_ + 1));
  Value* last = b_.Add(number, b_.I64(ahead_));
  next_slot_ = b_.Rem(last, b_.I64(ahead_ + 1));
}

Value* RingLoop::lo() const { return loop_->operand(ir::LoopOp::at_lo); }
Value* RingLoop::hi() const { return loop_->operand(ir::LoopOp::at_hi); }
Value* RingLoop::step() const { return loop_->operand(ir::LoopOp::at_step); }

Value* RingLoop::NewRing(const Value* buffer) {
  std::vector<int64_t> extents = {ahead_ + 1};
  for (Size dim : buffer->type()->dims) extents.push_back(dim->value);
  b_.SetInsertionPoint(loop_);
  ir::Type type =
      b_.types().Buffer(buffer->type()->scalar, std::move(extents), ir::Space::Workgroup);
  Value* ring = b_.Create(OpKind::BufferNew, {}, {type})->result();
  ring->set_name(buffer->name());
  return ring;
}

void RingLoop::FirstIteration(Value* number, const Body& body) {
  Value* way = b_.Mul(step(), number);
  Value* exists = HasIteration(b_, lo(), hi(), way);
  MakeIf(b_, exists, [&] { body(b_.Add(lo(), way), number); });
}

void RingLoop::IterationAhead(const Body& body) {
  Value* way = b_.Mul(step(), b_.I64(ahead_));
  Value* goes_on = HasLaterIteration(b_, lo(), iteration(), hi(), way);
  MakeIf(b_, goes_on, [&] { body(b_.Add(iteration(), way), next_slot_); });
}

}  // namespace kdl::simt
