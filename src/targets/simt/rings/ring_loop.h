#pragma once

#include <functional>

#include "ir/builder.h"
#include "passes/names.h"

// Shared by passes that let an iteration of a loop begin work for later iterations. For this, a buffer
// becomes a ring of slots.

namespace kdl::simt {

/// Whether the buffer is accessed only by ops that can name a slot.
bool HasPlainUses(const ir::Op* buffer);
/// Returns the slot of a ring that the op accesses, which is the op's first index. Returns null if the op
/// does not name a slot.
const ir::Value* SlotIndexOf(const ir::Op* op, const ir::Value* buffer);
/// Makes the op access `buffer` instead of its old buffer, with `slot` inserted before the indices of segment
/// `index_at`.
void SetSlot(ir::Op* op, size_t buffer_at, size_t index_at, ir::Value* buffer, ir::Value* slot);
/// Makes an op that accesses the buffer `old` access a slot of `ring` instead.
void MoveUse(ir::Op* user, const ir::Value* old, ir::Value* ring, ir::Value* slot);

/// A loop whose iterations begin work for the iterations `ahead` steps later, in slots of rings.
class RingLoop {
 public:
  /// Emits code for the iteration with index `at`, which uses the given slot.
  using Body = std::function<void(ir::Value* at, ir::Value* slot)>;

  RingLoop(ir::Builder& b, ir::Op* loop, int64_t ahead);

  ir::Value* iteration() const { return loop_->region()->param(0); }
  /// Returns the slot of the current iteration.
  ir::Value* slot() const { return slot_; }
  /// Makes, before the loop, a ring whose slots are like the given buffer.
  ir::Value* NewRing(const ir::Value* buffer);
  /// Emits `body` before the loop, at the builder's position, for iteration `number` if that iteration
  /// exists.
  void FirstIteration(ir::Value* number, const Body& body);
  /// Emits `body` in the loop for the iteration that is `ahead` steps later, if that iteration exists.
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
