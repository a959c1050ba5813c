#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "ir/ring.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "ir/workgroup_memory.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/simt/analysis/iteration_needs.h"
#include "targets/simt/passes.h"
#include "targets/simt/rings/ring_loop.h"

// pipeline-async-copies: fetches tiles that each iteration of a loop reads, such as the factors of a product, some
// iterations ahead, with asynchronous copies that run while other iterations compute. A tile's buffer becomes a ring
// buffer with a slot for each iteration in flight.
//
// If all threads copy, they wait for groups of copies, and one barrier per iteration is enough: after the barrier, all
// threads see the completed copies of all other threads, and no thread reads the slot that is filled next.
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

namespace {

using ir::AttrKey;

bool HasKind(const ir::Region* region, OpKind kind) {
  return ir::AnyBelow(region, [&](const Op* op) { return op->kind() == kind; });
}

/// Returns whether the op that starts copies also waits for them.
bool AwaitsItself(const Op* fetch) { return HasKind(fetch->region(0), OpKind::AsyncCopyWait); }

/// Finds the tiles that each iteration of a loop fetches, and for each of them the op that starts its copies: an `if`
/// in which all threads copy, or a workgroup loop in which one thread copies the tile and waits for it.
class FetchStudy {
 public:
  FetchStudy(const ir::Function& kernel, Op* loop)
      : kernel_(kernel),
        loop_(loop),
        changing_(MayWaitForPipes(loop) ? kernel.body : loop->region()) {}

  std::vector<Fetched> Find() {
    return FetchedBy(loop_, [this](Op* op) { return At(op); });
  }

 private:
  /// While an iteration waits for a pipe, other stages run.
  static bool MayWaitForPipes(const Op* loop) {
    return HasKind(loop->region(), OpKind::Acquire) || HasKind(loop->region(), OpKind::Wait);
  }

  std::optional<Fetched> At(Op* op) const {
    bool is_branch = op->kind() == OpKind::If && op->results().empty();
    if (!is_branch && !op->HasAttr(AttrKey::Threads)) return std::nullopt;
    Op* buffer = FilledBuffer(op);
    if (!buffer || buffer->parent_region() != loop_->region() || !HasPlainUses(buffer))
      return std::nullopt;
    Fetched fetched{op, buffer, {}};
    bool repeats = is_branch != AwaitsItself(op) && TouchesOnly(op, buffer->result()) &&
                   AddSlice(loop_, op, fetched.ops) && KeepsSources(op) &&
                   (is_branch ? IsSafeForAll(fetched) : IsSafeForOne());
    return repeats ? std::optional(std::move(fetched)) : std::nullopt;
  }

  /// Returns the buffer that the copies in `op` fill, or null if there are none. Copies that arrive at an mbarrier have
  /// a ring already.
  static Op* FilledBuffer(const Op* op) {
    Op* buffer = nullptr;
    ir::Walk(op->region(0), [&](Op* inner) {
      if (inner->kind() != OpKind::AsyncCopy || ir::AsyncCopyOp(inner).mbarriers()) return;
      if (ir::CopyEndsOf(inner).in) buffer = ir::CopyEndsOf(inner).buffer->def();
    });
    return buffer;
  }

  static bool TouchesOnly(const Op* fetch, const Value* buffer) {
    return std::ranges::all_of(OutsideOperands(fetch), [&](const Value* used) {
      return used->type()->kind != ir::TypeKind::Buffer || used == buffer;
    });
  }

  /// Returns whether nothing that may run between the start of the copies and their use changes the tensors that the
  /// fetch reads.
  bool KeepsSources(const Op* fetch) const {
    auto is_changed = [&](const Value* operand) {
      return operand->type()->kind == ir::TypeKind::Tensor &&
             ChangesMemory(changing_, ir::MemoryOf(operand));
    };
    return std::ranges::none_of(fetch->regions(), [&](const ir::Region* region) {
      return ir::AnyBelow(
          region, [&](const Op* op) { return std::ranges::any_of(op->operands(), is_changed); });
    });
  }

  /// Returns whether all threads can fetch ahead: the ring would have to survive a grid-wide barrier or an iteration of
  /// a stage, but workgroup memory does not. All threads would execute a trap.
  bool IsSafeForAll(const Fetched& fetched) const {
    auto may_trap = [](const ir::Region* region) { return ir::AnyBelow(region, passes::MayTrap); };
    return !HasKind(kernel_.body, OpKind::Sync) && !HasKind(kernel_.body, OpKind::Stage) &&
           std::ranges::none_of(fetched.ops, passes::MayTrap) &&
           std::ranges::none_of(fetched.fetch->regions(), may_trap);
  }

  /// Returns whether one thread can fetch ahead: what other cores write becomes visible only after a `sync`.
  bool IsSafeForOne() const { return !HasKind(loop_->region(), OpKind::Sync); }

  const ir::Function& kernel_;
  Op* loop_;
  const ir::Region* changing_;  ///< the code that may run between the start of a copy and its use
};

/// Rewrites one loop so that it fetches tiles ahead of time.
class FetchRewriter {
 public:
  FetchRewriter(ir::Module& module, Op* loop, int64_t ahead)
      : b_(module),
        loop_(loop),
        ahead_(ahead),
        first_(loop->region()->first()),
        ring_(b_, loop, ahead) {}

  /// All threads fetch the tiles, and wait for groups of copies.
  void FetchInGroups(const std::vector<Fetched>& all) {
    std::vector<Value*> rings;
    for (const Fetched& fetched : all) rings.push_back(ring_.NewRing(fetched.buffer->result()));
    auto fetch = [&](Value* at, Value* slot) {
      for (size_t i = 0; i < all.size(); ++i) Fetch(all[i], at, slot, rings[i]);
    };
    b_.SetInsertionPoint(loop_);
    Value* zero = b_.I64(0);
    Value* iterations = b_.I64(ahead_);
    MakeLoop(b_, {zero, iterations}, [&](Value* number) {
      ring_.FirstIteration(number, fetch);
      b_.Create(OpKind::AsyncCopyCommit, {}, {});
    });
    b_.SetInsertionPoint(first_);
    b_.Create(OpKind::AsyncCopyWait, {rings, {}, {}}, {},
              {ir::MakeAttr<AttrKey::Ahead>(ahead_ - 1)});
    b_.Create(OpKind::Barrier, {}, {});
    ring_.IterationAhead(fetch);
    b_.Create(OpKind::AsyncCopyCommit, {}, {});
    for (size_t i = 0; i < all.size(); ++i) Replace(all[i], rings[i]);
    for (Op* op : *loop_->region()) {
      if (op->kind() == OpKind::If && FillsRings(op, rings)) ShowToAll(op);
    }
  }

  /// One thread fetches a tile, and waits for the copies into a slot. `brief` is true if the launch has grid-wide
  /// barriers but none of them is in the loop, so that the ring buffer need not survive such a barrier.
  void FetchOnFirstThread(const Fetched& fetched, bool brief) {
    Value* ring = ring_.NewRing(fetched.buffer->result());
    if (brief) ring->def()->SetAttr(ir::MakeAttr<AttrKey::Brief>(1));
    auto fetch = [&](Value* at, Value* slot) { Fetch(fetched, at, slot, ring); };
    passes::OnFirstThread(b_, [&] {
      for (int64_t number = 0; number < ahead_; ++number)
        ring_.FirstIteration(b_.I64(number), fetch);
    });
    b_.SetInsertionPoint(fetched.fetch);
    passes::OnFirstThread(b_, [&] {
      b_.Create(OpKind::AsyncCopyWait, {{ring}, {}, {ring_.slot()}}, {});
      ring_.IterationAhead(fetch);
    });
    Replace(fetched, ring);
  }

 private:
  /// Emits, at the builder's position, the fetch for the iteration with index `at`, into `slot`.
  void Fetch(const Fetched& fetched, Value* at, Value* slot, Value* ring) {
    ir::ValueMap map;
    map[ring_.iteration()] = at;
    for (const Op* op : fetched.ops) ir::Clone(op, b_, map);
    const Value* old = fetched.buffer->result();
    const std::vector<ir::Use> before = old->uses();
    AwaitsItself(fetched.fetch) ? ir::CloneBody(fetched.fetch->region(), b_, map)
                                : static_cast<void>(ir::Clone(fetched.fetch, b_, map));
    const std::vector<ir::Use> after = old->uses();
    for (const ir::Use& use : after) {
      bool is_old = std::ranges::find(before, use.user, &ir::Use::user) != before.end();
      if (is_old) continue;
      use.user->kind() == OpKind::AsyncCopyWait ? ir::Erase(use.user)
                                                : MoveUse(use.user, old, ring, slot);
    }
  }

  /// Replaces the buffer by the current iteration's slot of the ring.
  void Replace(const Fetched& fetched, Value* ring) {
    const Value* old = fetched.buffer->result();
    ir::Erase(fetched.fetch);
    while (!old->uses().empty()) {
      Op* user = old->uses().front().user;
      bool awaits = user->kind() == OpKind::AsyncCopyWait &&
                    !user->Segment(ir::AsyncCopyWaitOp::at_buffers).empty();
      awaits ? AwaitNoMore(user, old) : MoveUse(user, old, ring, ring_.slot());
    }
    ir::Erase(fetched.buffer);
  }

  static void AwaitNoMore(Op* await, const Value* old) {
    std::vector<Value*> others;
    for (Value* buffer : ir::AsyncCopyWaitOp(await).buffers()) {
      if (buffer != old) others.push_back(buffer);
    }
    others.empty() ? ir::Erase(await) : await->SetSegment(ir::AsyncCopyWaitOp::at_buffers, others);
  }

  /// Returns whether the `if` writes to slots of the current iteration and to no other buffers.
  bool FillsRings(const Op* branch, const std::vector<Value*>& rings) const {
    bool fills = false;
    bool others = false;
    ir::Walk(branch->region(0), [&](const Op* op) {
      if (op->kind() != OpKind::BufferStore) return;
      Value* buffer = ir::BufferStoreOp(const_cast<Op*>(op)).buffer();
      bool is_own = op->Segment(ir::BufferStoreOp::at_index)[0] == ring_.slot();
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
  int64_t ahead_;
  Op* first_;
  RingLoop ring_;
};

int64_t FetchedBytes(const std::vector<Fetched>& all) {
  int64_t bytes = 0;
  for (const Fetched& fetched : all) bytes += ir::WorkgroupBytes(fetched.buffer->result()->type());
  return bytes;
}

/// Returns the number of bytes that the kernel's pipes will occupy once their slots have become buffers.
int64_t PipeBytes(const ir::Function& kernel) {
  int64_t bytes = 0;
  for (const Op* pipe : ir::PipesOf(kernel))
    bytes += ir::WorkgroupBytes(pipe->result()->type()) * pipe->attr<AttrKey::Depth>();
  return bytes;
}

/// Returns how many iterations ahead a loop can fetch; 0 if there is no room. If all tiles must be in workgroup memory,
/// a loop has the slots that the source demands, and check-scratch reports an error if they do not fit.
int64_t IterationsAhead(const SimtFacts& facts, const Op* loop, int64_t usual, int64_t most) {
  if (!loop->HasAttr(AttrKey::Ahead)) return std::min(usual, most);
  bool has_limit = facts.workgroup_limit > 0;
  return has_limit ? loop->attr<AttrKey::Ahead>() : std::min(loop->attr<AttrKey::Ahead>(), most);
}

}  // namespace

void PipelineIterations(PassContext& context, ir::Function& kernel, int64_t ahead_usually) {
  const SimtFacts& facts = SimtFactsOf(context);
  int64_t room = facts.ring_bytes - ir::WorkgroupBytes(kernel);
  if (!facts.global_pipes) room -= PipeBytes(kernel);
  bool has_parts = HasKind(kernel.body, OpKind::Sync);
  for (Op* loop : OpsOfKind(kernel, OpKind::Loop)) {
    std::vector<Fetched> all = FetchStudy(kernel, loop).Find();
    if (all.empty()) continue;
    int64_t ahead = IterationsAhead(facts, loop, ahead_usually, room / FetchedBytes(all));
    if (ahead < 1) continue;
    room -= ahead * FetchedBytes(all);
    FetchRewriter rewriter(context.module, loop, ahead);
    if (!AwaitsItself(all[0].fetch)) {
      rewriter.FetchInGroups(all);
      continue;
    }
    for (const Fetched& fetched : all) rewriter.FetchOnFirstThread(fetched, has_parts);
  }
}

void RunPipelineAsyncCopies(PassContext& context, ir::Function& kernel) {
  PipelineIterations(context, kernel, context.Value(kCopiesAhead));
}

}  // namespace kdl::simt
