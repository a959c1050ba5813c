#include "targets/simt/rings/ring_loop.h"

#include <algorithm>
#include <optional>

#include "ir/lookup.h"
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

/// The operand segments of an op that contain the buffer that it accesses, and the index.
struct BufferUse {
  size_t buffer;
  size_t index;
};

std::optional<BufferUse> UseOf(const Op* op) {
  switch (op->kind()) {
    case OpKind::BufferLoad:
      return BufferUse{ir::BufferLoadOp::at_buffer, ir::BufferLoadOp::at_index};
    case OpKind::BufferStore:
      return BufferUse{ir::BufferStoreOp::at_buffer, ir::BufferStoreOp::at_index};
    case OpKind::AsyncCopy: {
      bool in = ir::CopyEndsOf(op).in;
      return BufferUse{in ? ir::AsyncCopyOp::at_to : ir::AsyncCopyOp::at_from,
                       ir::AsyncCopyOp::at_place};
    }
    case OpKind::AsyncCopyWait: {
      bool in = !op->Segment(ir::AsyncCopyWaitOp::at_buffers).empty();
      return BufferUse{in ? ir::AsyncCopyWaitOp::at_buffers : ir::AsyncCopyWaitOp::at_sources,
                       ir::AsyncCopyWaitOp::at_slot};
    }
    default:
      return std::nullopt;
  }
}

bool HasSlot(const Value* buffer) { return buffer->def()->HasAttr(ir::AttrKey::Swizzle); }

/// Makes an `mma` op read a factor from a slot of `ring`. The op names the slot of its first factor before
/// that of the second.
void MoveFactor(Op* step, const Value* old, Value* ring, Value* slot) {
  for (size_t factor : {0, 1}) {
    if (step->operand(factor) != old) continue;
    ir::MmaOp view(step);
    std::vector<Value*> slots(view.slots().begin(), view.slots().end());
    if (HasSlot(old)) slots.erase(factor == 0 ? slots.begin() : slots.end() - 1);
    slots.insert(factor == 0 ? slots.begin() : slots.end(), slot);
    step->SetOperand(factor, ring);
    step->SetSegment(ir::MmaOp::at_slots, slots);
  }
}

}  // namespace

bool HasPlainUses(const Op* buffer) {
  return std::ranges::all_of(buffer->result()->uses(), [](const ir::Use& use) {
    OpKind kind = use.user->kind();
    return kind == OpKind::Mma || kind == OpKind::TileCopyFits || UseOf(use.user);
  });
}

const Value* SlotIndexOf(const Op* op, const Value* buffer) {
  if (op->kind() == OpKind::Mma) {
    ir::MmaOp step(const_cast<Op*>(op));
    if (buffer->type()->dims.size() != 3) return nullptr;
    return buffer == step.a() ? step.slots().front() : step.slots().back();
  }
  std::optional<BufferUse> use = UseOf(op);
  if (!use || op->Segment(use->buffer)[0] != buffer) return nullptr;
  auto index = op->Segment(use->index);
  return index.empty() ? nullptr : index[0];
}

void MoveUse(Op* user, const Value* old, Value* ring, Value* slot) {
  if (user->kind() == OpKind::Mma) return MoveFactor(user, old, ring, slot);
  if (user->kind() == OpKind::TileCopyFits)  // the layout of a ring is that of its slots
    return user->SetOperand(ir::TileCopyFitsOp::at_buffer, ring);
  std::optional<BufferUse> use = UseOf(user);
  KDL_CHECK(use && user->Segment(use->buffer).size() == 1, "'{}' cannot access a slot",
            user->info().spelling);
  std::vector<Value*> index = {slot};
  auto old_index = user->Segment(use->index);
  index.insert(index.end(), old_index.begin() + (HasSlot(old) ? 1 : 0), old_index.end());
  user->SetOperand(user->SegmentBegin(use->buffer), ring);
  user->SetSegment(use->index, index);
}

namespace {

/// Returns whether `way` is less than the distance from `from` to `to`, which may exceed the range of i64.
Value* IsNearer(ir::Builder& b, Value* way, Value* from, Value* to) {
  Value* unsigned_way = b.Cast(way, Scalar::U64);
  return b.Lt(unsigned_way, b.Cast(b.Sub(to, from), Scalar::U64));
}

/// Returns whether a loop from `lo` to `hi` has an iteration at `lo + way`. `way` is not negative. From 0, the distance
/// is the end itself. If it is negative, there is no iteration.
Value* HasIteration(ir::Builder& b, Value* lo, Value* hi, Value* way) {
  if (passes::ConstantOf(lo) == 0) return b.Lt(way, b.Sub(hi, lo));
  Value* begins = b.Lt(lo, hi);
  return b.And(begins, IsNearer(b, way, lo, hi));
}

/// Returns whether the iteration at `at` of such a loop is followed by one at `at + way`.
Value* HasLaterIteration(ir::Builder& b, Value* lo, Value* at, Value* hi, Value* way) {
  if (passes::ConstantOf(lo) == 0) return b.Lt(way, b.Sub(hi, at));
  return IsNearer(b, way, at, hi);
}

}  // namespace

RingLoop::RingLoop(ir::Builder& b, Op* loop, int64_t ahead) : b_(b), loop_(loop), ahead_(ahead) {
  b_.set_loc(loop_->loc());
  current_.at = loop_->region()->param(0);
}

Value* RingLoop::lo() const { return loop_->operand(ir::LoopOp::at_lo); }
Value* RingLoop::hi() const { return loop_->operand(ir::LoopOp::at_hi); }
Value* RingLoop::step() const { return loop_->operand(ir::LoopOp::at_step); }

Value* RingLoop::SlotOf(Value* number) { return b_.Rem(number, b_.I64(slots())); }

Value* RingLoop::NewRing(const Value* buffer) {
  std::vector<int64_t> extents;
  for (Size dim : buffer->type()->dims) extents.push_back(dim->value);
  if (HasSlot(buffer)) extents.erase(extents.begin());
  extents.insert(extents.begin(), slots());
  ir::Type type =
      b_.types().Buffer(buffer->type()->scalar, std::move(extents), ir::Space::Workgroup);
  Value* ring = b_.Create(OpKind::BufferNew, {}, {type}, buffer->def()->attrs())->result();
  ring->set_name(buffer->name());
  return ring;
}

void RingLoop::NumberIterations(Value* before) {
  here_ = b_.Div(b_.Sub(current_.at, lo()), step());
  Value* number = before ? b_.Add(before, here_) : here_;
  current_.number = number;
  current_.slot = SlotOf(number);
  later_.number = b_.Add(number, b_.I64(ahead_));
  later_.slot = SlotOf(later_.number);
}

void RingLoop::FirstIteration(Value* number, const Body& body, Value* before) {
  Value* way = b_.Mul(step(), number);
  Value* exists = HasIteration(b_, lo(), hi(), way);
  MakeIf(b_, exists, [&] {
    Value* counted = before ? b_.Add(before, number) : number;
    Value* slot = before ? SlotOf(counted) : number;
    body({b_.Add(lo(), way), counted, slot});
  });
}

void RingLoop::FirstIterations(const Body& body, Value* before,
                               const std::function<void()>& after) {
  Value* zero = b_.I64(0);
  Value* iterations = b_.I64(ahead_);
  passes::MakeLoop(b_, {zero, iterations}, [&](Value* number) {
    FirstIteration(number, body, before);
    after();
  });
}

void RingLoop::IterationAhead(const Body& body) {
  Value* way = b_.Mul(step(), b_.I64(ahead_));
  Value* goes_on = HasLaterIteration(b_, lo(), current_.at, hi(), way);
  MakeIf(b_, goes_on, [&] { body({b_.Add(current_.at, way), later_.number, later_.slot}); });
}

}  // namespace kdl::simt
