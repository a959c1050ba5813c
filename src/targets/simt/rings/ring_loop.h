#pragma once

#include <functional>

#include "ir/builder.h"
#include "passes/names.h"

// Shared by passes that let an iteration of a loop begin what later iterations need: a buffer becomes a ring
// of slots.

namespace kdl::simt {

/// Whether only ops that can name a slot access the buffer.
bool HasPlainUses(const ir::Op* buffer);
/// Returns the slot of a ring that the op accesses, which is its first index, or null if it names none.
const ir::Value* SlotIndexOf(const ir::Op* op, const ir::Value* buffer);
/// Makes the op access `buffer` instead, with `slot` inserted before the indices of segment `index_at`.
void SetSlot(ir::Op* op, size_t buffer_at, size_t index_at, ir::Value* buffer, ir::Value* slot);
/// Makes an op that accesses the buffer `old` access a slot of a ring instead.
void MoveUse(ir::Op* user, const ir::Value* old, ir::Value* ring, ir::Value* slot);

/// A loop whose iterations begin what the iterations `ahead` steps later need, in slots of rings.
class RingLoop {
 public:
  /// Emits something for the iteration with index `at`, in the given slot.
  using Body = std::function<void(ir::Value* at, ir::Value* slot)>;

  RingLoop(ir::Builder& b, ir::Op* loop, int64_t ahead);

  ir::Value* iteration() const { return loop_->region()->param(0); }
  /// The slot of the current iteration.
  ir::Value* slot() const { return slot_; }
  /// Makes, before the loop, a ring with slots like the given buffer.
  ir::Value* NewRing(const ir::Value* buffer);
  /// Emits `body` before the loop, at the builder's position, for iteration `number` if it exists.
  void FirstIteration(ir::Value* number, const Body& body);
  /// Emits `body` in the loop for the iteration that is `ahead` steps later, if it exists.
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
