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
/// Makes an op that accesses the buffer `old` access a slot of `ring` instead. If `old` is in panels, it is itself a ring
/// with one slot.
void MoveUse(ir::Op* user, const ir::Value* old, ir::Value* ring, ir::Value* slot);

/// An iteration for which a loop begins work in an earlier iteration, or before the loop.
struct RingIteration {
  ir::Value* at;      ///< the loop's variable
  ir::Value* number;  ///< its number among all iterations that share the rings
  ir::Value* slot;    ///< the slot that it uses in each ring
};

/// A loop in which each iteration begins work for the iteration that is `ahead` iterations later, in a slot
/// of each ring.
class RingLoop {
 public:
  /// Emits code for an iteration.
  using Body = std::function<void(const RingIteration& iteration)>;

  RingLoop(ir::Builder& b, ir::Op* loop, int64_t ahead);

  int64_t slots() const { return ahead_ + 1; }
  int64_t ahead() const { return ahead_; }
  /// Creates a ring before the loop. Each slot has the shape of the given buffer.
  ir::Value* NewRing(const ir::Value* buffer);

  /// Emits, at the builder's position in the loop, the number of the current iteration and its slot. `before` is the
  /// number of iterations of earlier executions of the loop that share the rings, or null if there are none.
  void NumberIterations(ir::Value* before = nullptr);
  /// Returns the current iteration; its number and slot are null until `NumberIterations` has been called.
  const RingIteration& current() const { return current_; }
  /// Returns the number of the current iteration among those of this execution of the loop.
  ir::Value* here() const { return here_; }

  /// Emits `body` before the loop, at the builder's position, for the iteration with this number if it exists. `before` is as
  /// above.
  void FirstIteration(ir::Value* number, const Body& body, ir::Value* before = nullptr);
  /// Emits a loop that does so for the first `ahead` iterations. After each of them, emits `after`.
  void FirstIterations(
      const Body& body, ir::Value* before = nullptr, const std::function<void()>& after = [] {});
  /// Emits `body` in the loop for the iteration that is `ahead` iterations later, if that iteration exists.
  void IterationAhead(const Body& body);

 private:
  ir::Value* lo() const;
  ir::Value* hi() const;
  ir::Value* step() const;
  ir::Value* SlotOf(ir::Value* number);

  ir::Builder& b_;
  ir::Op* loop_;
  int64_t ahead_;
  ir::Value* here_ = nullptr;
  RingIteration current_ = {};
  RingIteration later_ = {};  ///< the iteration that is `ahead` iterations later, without `at`
};

}  // namespace kdl::simt
