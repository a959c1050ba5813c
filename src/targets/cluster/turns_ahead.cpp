#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "ir/team_memory.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/rewrite.h"
#include "passes/structured.h"
#include "support/scalar.h"
#include "targets/cluster/passes.h"

// turns-ahead: what a turn of a loop copies begins turns before, so that it comes while others are computed. The buffer gets a slot
// for each turn that is under way. Without a word of the source it is one turn, where the scratchpad has room.
//
//   loop %k in 0 .. %K step 16 {           ->   %A = buffer_new : buffer<f32,[2,64,16]; team>
//     %A = buffer_new : …[64,16]; team          loop {team} { if 0 < %K { copy_in %a[%i, 0] to %A[0, 0, 0] … } }
//     loop {team} {                             loop %k in 0 .. %K step 16 {
//       copy_in %a[%i, %k] to %A[0, 0]            %s = %k / 16 rem 2
//       await_copies %A }                         loop {team} { await_copies %A[%s]
//     …                                             if … { copy_in %a[%i, %k + 16] to %A[(%s + 1) rem 2, 0, 0] } }

namespace kdl::cluster {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

bool IsCopy(const Op* op) { return op->kind() == OpKind::CopyIn || op->kind() == OpKind::CopyOut; }

/// Whether something in the block changes the memory.
bool Changes(const ir::Block* block, const Value* memory) {
  bool changes = false;
  ir::Walk(block, [&](const Op* op) {
    for (size_t s = 0; s < op->info().operands.size(); ++s) {
      ir::Effect effect = op->info().operands[s].effect;
      if (effect == ir::Effect::Read || effect == ir::Effect::Shows) continue;
      for (const Value* operand : op->Segment(s))
        changes |= operand->type()->kind == ir::TypeKind::Tensor && ir::MemoryOf(operand) == memory;
    }
  });
  return changes;
}

/// A tile that a turn of a loop brings.
struct Brought {
  Op* fetch;             ///< the loop of the team's that copies and awaits
  Op* buffer;            ///< its buffer_new
  std::vector<Op*> ops;  ///< of the turn, in order: what says from where
};

/// Those of one loop.
class LoopStudy {
 public:
  explicit LoopStudy(Op* loop) : loop_(loop) {}

  std::vector<Brought> Find() {
    std::vector<Brought> all;
    if (loop_->HasAttr(AttrKey::Team) || loop_->HasAttr(AttrKey::Breaks) ||
        loop_->HasAttr(AttrKey::Claim))
      return all;
    for (Op* op : *loop_->region()) {
      if (std::optional<Brought> one = At(op)) all.push_back(std::move(*one));
    }
    return all;
  }

 private:
  std::optional<Brought> At(Op* op) {
    if (!op->HasAttr(AttrKey::Team) || op->region()->first() == nullptr) return std::nullopt;
    const Op* await = nullptr;
    for (const Op* inner : *op->region()) {
      if (inner->kind() == OpKind::AwaitCopies) await = inner;
    }
    if (!await) return std::nullopt;
    Op* buffer = await->operand(0)->def();
    Brought brought{op, buffer, {}};
    if (buffer->block() != loop_->region() || !HasPlainUses(buffer) || ChangesSources(op) ||
        !AddSlice(op, brought.ops))
      return std::nullopt;
    return brought;
  }

  static bool HasPlainUses(const Op* buffer) {
    return std::ranges::all_of(buffer->result()->uses(), [](const ir::Use& use) {
      OpKind kind = use.user->kind();
      return kind == OpKind::BufferLoad || kind == OpKind::BufferStore || IsCopy(use.user) ||
             kind == OpKind::AwaitCopies;
    });
  }

  bool ChangesSources(const Op* fetch) const {
    bool changes = false;
    ir::Walk(fetch->region(), [&](const Op* op) {
      if (op->kind() != OpKind::CopyIn) return;
      const Value* tensor = op->operand(op->SegmentBegin(ir::CopyInOp::at_tensor));
      changes |= Changes(loop_->region(), ir::MemoryOf(tensor));
    });
    return changes;
  }

  /// The ops of the turn that `op` needs; false: one of them another turn cannot do for it.
  bool AddSlice(const Op* op, std::vector<Op*>& slice) {
    for (Value* used : OutsideOperands(op)) {
      Op* def = used->def();
      const ir::Block* block = def ? def->block() : used->block();
      if (used->type()->kind == ir::TypeKind::Buffer || block != loop_->region()) continue;
      if (!def) {
        if (used != loop_->region()->param(0)) return false;
        continue;
      }
      if (std::ranges::find(slice, def) != slice.end()) continue;
      bool repeats = def->regions().empty() &&
                     (def->info().has(ir::kPure) || def->info().has(ir::kElementwise));
      if (!repeats || !AddSlice(def, slice)) return false;
      slice.push_back(def);
    }
    return true;
  }

  Op* loop_;
};

/// Rewrites one loop.
class LoopRewriter {
 public:
  LoopRewriter(ir::Module& module, Op* loop, int64_t ahead)
      : b_(module), loop_(loop), ahead_(ahead) {}

  void Run(const std::vector<Brought>& all) {
    slots_ = ahead_ + 1;
    b_.set_loc(loop_->loc());
    FindSlot();
    for (const Brought& brought : all) Rewrite(brought);
  }

 private:
  Value* lo() const { return loop_->operand(ir::LoopOp::at_lo); }
  Value* hi() const { return loop_->operand(ir::LoopOp::at_hi); }
  Value* step() const { return loop_->operand(ir::LoopOp::at_step); }
  Value* turn() const { return loop_->region()->param(0); }

  /// The slot of the present turn.
  void FindSlot() {
    b_.SetInsertionPoint(loop_->region()->first());
    Value* number = b_.Binary(OpKind::Div, b_.Binary(OpKind::Sub, turn(), lo()), step());
    slot_ = b_.Binary(OpKind::Rem, number, b_.I64(slots_));
    Value* last = b_.Binary(OpKind::Add, number, b_.I64(ahead_));
    next_slot_ = b_.Binary(OpKind::Rem, last, b_.I64(slots_));
  }

  void Rewrite(const Brought& brought) {
    Value* old = brought.buffer->result();
    std::vector<int64_t> extents = {slots_};
    for (Size dim : old->type()->dims) extents.push_back(dim->value);
    b_.SetInsertionPoint(loop_);
    Value* buffer =
        b_.Create(OpKind::BufferNew, {},
                  {b_.types().Buffer(old->type()->scalar, std::move(extents), ir::Space::Team)})
            ->result();
    buffer->set_name(old->name());
    Begin(brought, buffer);
    b_.SetInsertionPoint(brought.fetch);
    Once([&] {
      b_.Create(OpKind::AwaitCopies, {{buffer}, {slot_}}, {});
      Value* way = b_.Binary(OpKind::Mul, step(), b_.I64(ahead_));
      Value* goes_on = b_.Binary(OpKind::Lt, way, b_.Binary(OpKind::Sub, hi(), turn()));
      MakeIf(b_, goes_on,
             [&] { CopyAt(brought, buffer, b_.Binary(OpKind::Add, turn(), way), next_slot_); });
    });
    ir::Erase(brought.fetch);
    while (!old->uses().empty()) MoveUse(old->uses().front().user, buffer);
    ir::Erase(brought.buffer);
  }

  /// The first turns' copies, in front of the loop.
  void Begin(const Brought& brought, Value* buffer) {
    Once([&] {
      for (int64_t number = 0; number < ahead_; ++number) {
        Value* way = b_.Binary(OpKind::Mul, step(), b_.I64(number));
        Value* exists = b_.Binary(OpKind::Lt, way, b_.Binary(OpKind::Sub, hi(), lo()));
        MakeIf(b_, exists,
               [&] { CopyAt(brought, buffer, b_.Binary(OpKind::Add, lo(), way), b_.I64(number)); });
      }
    });
  }

  void Once(const std::function<void()>& effect) {
    Value* zero = b_.I64(0);
    Value* one = b_.I64(1);
    MakeTeamLoop(b_, {zero, one}, [&](Value*) { effect(); });
  }

  /// What a turn copies, at the builder's place, into a slot.
  void CopyAt(const Brought& brought, Value* buffer, Value* at, Value* slot) {
    ir::ValueMap map;
    map[turn()] = at;
    for (Op* op : brought.ops) ir::Clone(op, b_, map);
    ir::Block* into = b_.block();
    Op* before = b_.before();
    const Op* last = before ? before->prev() : into->last();
    ir::CloneBody(brought.fetch->region(), b_, map);
    std::vector<Op*> copies;
    std::vector<Op*> awaits;
    auto visit = [&](Op* op) {
      if (op->kind() == OpKind::CopyIn) copies.push_back(op);
      if (op->kind() == OpKind::AwaitCopies) awaits.push_back(op);
    };
    for (Op* op = last ? last->next() : into->first(); op && op != before; op = op->next()) {
      visit(op);
      for (ir::Block* region : op->regions()) ir::Walk(region, visit);
    }
    for (Op* copy : copies)
      SetSlot(copy, ir::CopyInOp::at_buffer, ir::CopyInOp::at_place, buffer, slot);
    for (Op* await : awaits) ir::Erase(await);
  }

  static void SetSlot(Op* op, size_t buffer_at, size_t index_at, Value* buffer, Value* slot) {
    std::vector<Value*> index = {slot};
    auto old = op->Segment(index_at);
    index.insert(index.end(), old.begin(), old.end());
    op->SetOperand(op->SegmentBegin(buffer_at), buffer);
    op->SetSegment(index_at, index);
  }

  void MoveUse(Op* user, Value* buffer) {
    switch (user->kind()) {
      case OpKind::BufferLoad:
        return SetSlot(user, ir::BufferLoadOp::at_buffer, ir::BufferLoadOp::at_index, buffer,
                       slot_);
      case OpKind::BufferStore:
        return SetSlot(user, ir::BufferStoreOp::at_buffer, ir::BufferStoreOp::at_index, buffer,
                       slot_);
      default:
        return SetSlot(user, ir::CopyOutOp::at_buffer, ir::CopyOutOp::at_place, buffer, slot_);
    }
  }

  ir::Builder b_;
  Op* loop_;
  int64_t ahead_;
  int64_t slots_ = 0;
  Value* slot_ = nullptr;
  Value* next_slot_ = nullptr;
};

int64_t BytesOf(const std::vector<Brought>& all) {
  int64_t bytes = 0;
  for (const Brought& brought : all) bytes += ir::TeamBytes(brought.buffer->result()->type());
  return bytes;
}

bool HasOp(const ir::Function& kernel, OpKind kind) { return !OpsOfKind(kernel, kind).empty(); }

}  // namespace

void RunTurnsAhead(PassContext& context, ir::Function& kernel) {
  // What outlives a part between barriers of the launch, or a turn of a stage, is not near.
  if (HasOp(kernel, OpKind::Sync) || HasOp(kernel, OpKind::Stage)) return;
  int64_t room = context.facts->team_bytes - ir::TeamBytes(kernel);
  for (Op* loop : OpsOfKind(kernel, OpKind::Loop)) {
    std::vector<Brought> all = LoopStudy(loop).Find();
    int64_t ahead = loop->HasAttr(AttrKey::Ahead) ? loop->attr<AttrKey::Ahead>() : 1;
    bool fits = ahead * BytesOf(all) <= room;
    if (all.empty() || (!fits && !loop->HasAttr(AttrKey::Ahead))) continue;
    room -= ahead * BytesOf(all);
    LoopRewriter(context.module, loop, ahead).Run(all);
  }
}

}  // namespace kdl::cluster
