#pragma once

#include <functional>

#include "ir/builder.h"
#include "passes/names.h"

// Tools for passes that let an iteration of a loop begin work for later iterations. For this purpose, a
// buffer becomes a ring buffer: it gets several slots, one for each iteration in flight.

namespace kdl::simt {

/// Returns whether all ops that access the buffer can also access a slot of a ring.
bool HasPlainUses(const ir::Op* buffer);
/// Returns the slot of the ring `buffer` that the op accesses, which is the op's first index. Returns null if
/// the op does not access a slot.
const ir::Value* SlotIndexOf(const ir::Op* op, const ir::Value* buffer);
/// Makes an op that accesses the buffer `old` access a slot of `ring` instead.
void MoveUse(ir::Op* user, const ir::Value* old, ir::Value* ring, ir::Value* slot);

/// Returns whether a loop from `lo` to `hi` has an iteration at `lo + way`. `way` is not negative.
ir::Value* HasIteration(ir::Builder& b, ir::Value* lo, ir::Value* hi, ir::Value* way);
/// Returns whether the iteration at `at` of such a loop is followed by one at `at + way`.
ir::Value* HasLaterIteration(ir::Builder& b, ir::Value* lo, ir::Value* at, ir::Value* hi,
                             ir::Value* way);

/// A loop in which each iteration begins work for the iteration that is `ahead` iterations later, in a slot
/// of each ring.
class RingLoop {
 public:
  /// Emits code for the iteration with index `at`, which uses the given slot.
  using Body = std::function<void(ir::Value* at, ir::Value* slot)>;

  RingLoop(ir::Builder& b, ir::Op* loop, int64_t ahead);

  ir::Value* iteration() const { return loop_->region()->param(0); }
  /// Returns the slot of the current iteration.
  ir::Value* slot() const { return slot_; }
  /// Creates a ring before the loop. Each slot has the shape of the given buffer.
  ir::Value* NewRing(const ir::Value* buffer);
  /// Emits `body` before the loop, at the builder's position, for iteration `number` if that iteration
  /// exists.
  void FirstIteration(ir::Value* number, const Body& body);
  /// Emits `body` in the loop for the iteration that is `ahead` iterations later, if that iteration exists.
  void IterationAhead(const Body& body);

 private:
  ir::Value* lo() const;
  ir::Value* hi() const;
  ir::Value* step() const;

  ir::Builder& b_;
  ir::Op* loop_;
  int64_t ahead_;
  ir::Value* slot_;
  ir::Value* next_slot_;
};

}  // namespace kdl::simt
