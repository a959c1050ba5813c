#pragma once

#include <functional>

#include "ir/builder.h"
#include "passes/names.h"

// What passes share that let a turn of a loop begin what later turns need: a buffer becomes a ring of slots.

namespace kdl::simt {

/// Whether nothing touches the buffer but accesses that can name a slot.
bool HasPlainUses(const ir::Op* buffer);
/// Which slot the op touches, where the buffer is a ring: its first index there; null: it names none.
const ir::Value* SlotIndexOf(const ir::Op* op, const ir::Value* buffer);
/// Gives the op another buffer, with one more index before those in a segment.
void SetSlot(ir::Op* op, size_t buffer_at, size_t index_at, ir::Value* buffer, ir::Value* slot);
/// Gives the op that touches a buffer, a ring's slot instead.
void MoveUse(ir::Op* user, const ir::Value* old, ir::Value* ring, ir::Value* slot);

/// A loop whose turns begin what those `ahead` after them need, in slots of rings.
class RingLoop {
 public:
  /// Does something for the turn that begins at `at`, in the slot.
  using Body = std::function<void(ir::Value* at, ir::Value* slot)>;

  RingLoop(ir::Builder& b, ir::Op* loop, int64_t ahead);

  ir::Value* iteration() const { return loop_->region()->param(0); }
  /// That of the present turn.
  ir::Value* slot() const { return slot_; }
  /// With slots of what a buffer was, before the loop.
  ir::Value* NewRing(const ir::Value* buffer);
  /// At the builder's place, before the loop: `body` for turn `number`, where it exists.
  void FirstIteration(ir::Value* number, const Body& body);
  /// In the loop: `body` for the turn that is `ahead`, where it exists.
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
