#include "targets/simt/rings/thread_pipeline.h"

#include <algorithm>

#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"

// Copies for which threads wait. If all threads copy, they wait for groups of copies, and one barrier per iteration is
// enough: after the barrier, all threads see the completed copies of all other threads, and no thread reads the slot
// that is filled next.
//
//   loop %k in 0 .. %K step 16 {
//     %A = buffer_new : …[64,16]; workgroup
//     if … { loop {threads} { async_copy … } } …
//     async_copy_wait (%A)
//     … mma %A, … }
//   ->
//   %A = buffer_new : buffer<bf16,[3,64,16]; workgroup>
//   loop %n in 0 .. 2 { if … { … async_copy %a to %A … buffer[%n, …] } ; async_copy_commit }
//   loop %k in 0 .. %K step 16 {
//     %s = %k / 16 rem 3
//     async_copy_wait (%A) {ahead = 1}
//     barrier
//     if … { … async_copy %a to %A … buffer[(%s + 2) rem 3, …] }
//     async_copy_commit
//     … mma %A, … slots (%s, …) }
//
// If one thread copies whole tiles, it waits for the copies into a slot. The pass insert-barriers lets the other
// threads wait for this thread.
//
//   loop %k in 0 .. %K step 16 {
//     %A = buffer_new : …[64,16]; workgroup
//     loop {threads} { async_copy %a to %A tensor[%i, %k] buffer[0, 0] … ; async_copy_wait (%A) }
//     … }
//   ->
//   %A = buffer_new : buffer<f32,[2,64,16]; workgroup>
//   loop {threads} { if 0 < %K { async_copy %a to %A tensor[%i, 0] buffer[0, 0, 0] … } }
//   loop %k in 0 .. %K step 16 {
//     %s = %k / 16 rem 2
//     loop {threads} {
//       async_copy_wait (%A) slot %s
//       if … { async_copy %a to %A tensor[%i, %k + 16] buffer[(%s + 1) rem 2, 0, 0] … } }
//     … }

namespace kdl::simt {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

void RepeatOps(ir::Builder& b, const Fetched& fetched, ir::ValueMap& map) {
  for (const Op* op : fetched.ops) {
    if (op->results().empty() || !map.contains(op->result())) ir::Clone(op, b, map);
  }
}

void MoveNewUses(const Fetched& fetched, const std::vector<ir::Use>& before, Value* ring,
                 Value* slot) {
  const Value* old = fetched.buffer->result();
  const std::vector<ir::Use> after = old->uses();
  for (const ir::Use& use : after) {
    bool is_old = std::ranges::find(before, use.user, &ir::Use::user) != before.end();
    if (is_old) continue;
    use.user->kind() == OpKind::AsyncCopyWait ? ir::Erase(use.user)
                                              : MoveUse(use.user, old, ring, slot);
  }
}

namespace {

void AwaitNoMore(Op* await, const Value* old) {
  std::vector<Value*> others;
  for (Value* buffer : ir::AsyncCopyWaitOp(await).buffers()) {
    if (buffer != old) others.push_back(buffer);
  }
  others.empty() ? ir::Erase(await) : await->SetSegment(ir::AsyncCopyWaitOp::at_buffers, others);
}

}  // namespace

void ReplaceBuffer(const Fetched& fetched, Value* ring, Value* slot) {
  const Value* old = fetched.buffer->result();
  ir::Erase(fetched.fetch);
  while (!old->uses().empty()) {
    Op* user = old->uses().front().user;
    bool awaits = user->kind() == OpKind::AsyncCopyWait &&
                  !user->Segment(ir::AsyncCopyWaitOp::at_buffers).empty();
    awaits ? AwaitNoMore(user, old) : MoveUse(user, old, ring, slot);
  }
  ir::Erase(fetched.buffer);
}

namespace {

/// Rewrites one loop so that threads fetch tiles ahead of time.
class ThreadPipeline {
 public:
  ThreadPipeline(ir::Module& module, Op* loop, int64_t ahead)
      : b_(module), loop_(loop), first_(loop->region()->first()), ring_(b_, loop, ahead) {
    b_.SetInsertionPoint(first_);
    ring_.NumberIterations();
  }

  void FetchInGroups(std::span<const Fetched> all) {
    b_.SetInsertionPoint(loop_);
    std::vector<Value*> rings;
    for (const Fetched& fetched : all) rings.push_back(ring_.NewRing(fetched.buffer->result()));
    auto fetch = [&](const RingIteration& iteration) {
      for (size_t i = 0; i < all.size(); ++i) Fetch(all[i], iteration, rings[i]);
    };
    ring_.FirstIterations(fetch, nullptr, [&] { b_.Create(OpKind::AsyncCopyCommit, {}, {}); });
    b_.SetInsertionPoint(first_);
    b_.Create(OpKind::AsyncCopyWait, {rings, {}, {}}, {},
              {ir::MakeAttr<AttrKey::Ahead>(ring_.ahead() - 1)});
    b_.Create(OpKind::Barrier, {}, {});
    ring_.IterationAhead(fetch);
    b_.Create(OpKind::AsyncCopyCommit, {}, {});
    for (size_t i = 0; i < all.size(); ++i) ReplaceBuffer(all[i], rings[i], ring_.current().slot);
    for (Op* op : *loop_->region()) {
      if (op->kind() == OpKind::If && FillsRings(op, rings)) ShowToAll(op);
    }
  }

  void FetchOnFirstThread(const Fetched& fetched, bool brief) {
    b_.SetInsertionPoint(loop_);
    Value* ring = ring_.NewRing(fetched.buffer->result());
    if (brief) ring->def()->SetAttr(ir::MakeAttr<AttrKey::Brief>(1));
    auto fetch = [&](const RingIteration& iteration) { Fetch(fetched, iteration, ring); };
    passes::OnFirstThread(b_, [&] {
      for (int64_t number = 0; number < ring_.ahead(); ++number)
        ring_.FirstIteration(b_.I64(number), fetch);
    });
    b_.SetInsertionPoint(fetched.fetch);
    passes::OnFirstThread(b_, [&] {
      b_.Create(OpKind::AsyncCopyWait, {{ring}, {}, {ring_.current().slot}}, {});
      ring_.IterationAhead(fetch);
    });
    ReplaceBuffer(fetched, ring, ring_.current().slot);
  }

 private:
  /// Emits the fetch for an iteration at the builder's position.
  void Fetch(const Fetched& fetched, const RingIteration& iteration, Value* ring) {
    ir::ValueMap map = {{ring_.current().at, iteration.at}};
    RepeatOps(b_, fetched, map);
    const std::vector<ir::Use> before = fetched.buffer->result()->uses();
    fetched.kind == FetchKind::FirstThread ? ir::CloneBody(fetched.fetch->region(), b_, map)
                                           : static_cast<void>(ir::Clone(fetched.fetch, b_, map));
    MoveNewUses(fetched, before, ring, iteration.slot);
  }

  /// Returns whether the `if` writes to slots of the current iteration and to no other buffers.
  bool FillsRings(const Op* branch, const std::vector<Value*>& rings) const {
    bool fills = false;
    bool others = false;
    ir::Walk(branch->region(0), [&](const Op* op) {
      if (op->kind() != OpKind::BufferStore) return;
      Value* buffer = ir::BufferStoreOp(const_cast<Op*>(op)).buffer();
      bool is_own = op->Segment(ir::BufferStoreOp::at_index)[0] == ring_.current().slot;
      (is_own && std::ranges::count(rings, buffer) > 0 ? fills : others) = true;
    });
    return fills && !others;
  }

  /// Adds a barrier at the end of a branch that only some iterations take, such as a branch that writes zeros
  /// beyond the end of a block. Without that barrier, all iterations would need one.
  void ShowToAll(Op* branch) {
    b_.SetInsertionPoint(branch->region(0)->terminator());
    b_.Create(OpKind::Barrier, {}, {});
  }

  ir::Builder b_;
  Op* loop_;
  Op* first_;
  RingLoop ring_;
};

}  // namespace

void PipelineGroups(ir::Module& module, Op* loop, std::span<const Fetched> all, int64_t ahead) {
  ThreadPipeline(module, loop, ahead).FetchInGroups(all);
}

void PipelineFirstThread(ir::Module& module, Op* loop, std::span<const Fetched> all, int64_t ahead,
                         bool brief) {
  ThreadPipeline pipeline(module, loop, ahead);
  for (const Fetched& fetched : all) pipeline.FetchOnFirstThread(fetched, brief);
}

}  // namespace kdl::simt
