#include <algorithm>
#include <optional>
#include <vector>

#include "ir/tensor_view.h"
#include "ir/views.h"
#include "ir/workgroup_memory.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/simt/analysis/iteration_needs.h"
#include "targets/simt/passes.h"
#include "targets/simt/rings/ring_loop.h"

// pipeline-async-copies: fetches tiles that each iteration of a loop reads, such as the factors of a product, some
// iterations ahead, with asynchronous copies that run while other iterations compute. A tile's buffer becomes a ring buffer with a slot for each iteration
// in flight. One barrier per iteration is enough: after the barrier, all threads see the completed copies of
// all other threads, and no thread reads the slot that is filled next.
//
//   loop %k in 0 .. %K step 16 {
//     %A = buffer_new : …[64,16]; workgroup
//     if … { loop {threads} { async_copy … } } …
//     async_copy_wait (%A)
//     … mma %A, … }
//   ->
//   %A = buffer_new : buffer<bf16,[3,64,16]; workgroup>
//   loop %n in 0 .. 2 { if … { … async_copy … to %A[%n, …] } ; async_copy_commit }
//   loop %k in 0 .. %K step 16 {
//     %s = %k / 16 rem 3
//     async_copy_wait (%A) {ahead = 1}
//     barrier
//     if … { … async_copy … to %A[(%s + 2) rem 3, …] }
//     async_copy_commit
//     … mma %A, … slots (%s, …) }

namespace kdl::simt {

namespace {

using ir::AttrKey;

/// Finds the tiles that each iteration of a loop fetches, and for each of them the `if` that begins its copies.
class FetchStudy {
 public:
  explicit FetchStudy(Op* loop) : loop_(loop) {}

  std::vector<Fetched> Find() {
    return FetchedBy(loop_, [this](Op* op) { return At(op); });
  }

 private:
  std::optional<Fetched> At(Op* op) const {
    if (op->kind() != OpKind::If || !op->results().empty()) return std::nullopt;
    Op* buffer = FilledBuffer(op);
    if (!buffer || buffer->parent_region() != loop_->region() || !HasPlainUses(buffer))
      return std::nullopt;
    Fetched fetched{op, buffer, {}};
    bool repeats = TouchesOnly(op, buffer->result()) && AddSlice(loop_, op, fetched.ops) &&
                   std::ranges::none_of(fetched.ops, passes::MayTrap) && KeepsSources(op);
    return repeats ? std::optional(std::move(fetched)) : std::nullopt;
  }

  /// Returns the buffer that the copies in the `if` fill, or null if the `if` has no copies.
  static Op* FilledBuffer(const Op* branch) {
    Op* buffer = nullptr;
    ir::Walk(branch->region(0), [&](const Op* op) {
      if (op->kind() == OpKind::AsyncCopy)
        buffer = ir::AsyncCopyOp(const_cast<Op*>(op)).buffer()->def();
    });
    return buffer;
  }

  static bool TouchesOnly(const Op* branch, const Value* buffer) {
    return std::ranges::all_of(OutsideOperands(branch), [&](const Value* used) {
      return used->type()->kind != ir::TypeKind::Buffer || used == buffer;
    });
  }

  /// Returns whether the `if` cannot trap, and no iteration changes the memory that it reads.
  bool KeepsSources(const Op* branch) const {
    bool keeps = true;
    for (const ir::Region* region : branch->regions()) {
      ir::Walk(region, [&](const Op* op) {
        keeps &= !passes::MayTrap(op);
        for (const Value* operand : op->operands()) {
          if (operand->type()->kind == ir::TypeKind::Tensor)
            keeps &= !ChangesMemory(loop_->region(), ir::MemoryOf(operand));
        }
      });
    }
    return keeps;
  }

  Op* loop_;
};

/// Rewrites one loop so that it fetches factors ahead of time.
class FetchRewriter {
 public:
  FetchRewriter(ir::Module& module, Op* loop, int64_t ahead)
      : b_(module),
        loop_(loop),
        ahead_(ahead),
        first_(loop->region()->first()),
        ring_(b_, loop, ahead) {}

  void RewriteLoop(const std::vector<Fetched>& all) {
    for (const Fetched& fetched : all) rings_.push_back(ring_.NewRing(fetched.buffer->result()));
    b_.SetInsertionPoint(loop_);
    Value* zero = b_.I64(0);
    Value* iterations = b_.I64(ahead_);
    MakeLoop(b_, {zero, iterations}, [&](Value* number) {
      ring_.FirstIteration(number, [&](Value* at, Value* slot) { Fetch(all, at, slot); });
      b_.Create(OpKind::AsyncCopyCommit, {}, {});
    });
    b_.SetInsertionPoint(first_);
    b_.Create(OpKind::AsyncCopyWait, {rings_}, {}, {ir::MakeAttr<AttrKey::Ahead>(ahead_ - 1)});
    b_.Create(OpKind::Barrier, {}, {});
    ring_.IterationAhead([&](Value* at, Value* slot) { Fetch(all, at, slot); });
    b_.Create(OpKind::AsyncCopyCommit, {}, {});
    for (size_t i = 0; i < all.size(); ++i) Replace(all[i], rings_[i]);
    for (Op* op : *loop_->region()) {
      if (op->kind() == OpKind::If && FillsRings(op)) ShowToAll(op);
    }
  }

 private:
  /// Emits, at the builder's position, the fetches for the iteration with index `at`, into `slot`.
  void Fetch(const std::vector<Fetched>& all, Value* at, Value* slot) {
    for (size_t i = 0; i < all.size(); ++i) {
      ir::ValueMap map;
      map[ring_.iteration()] = at;
      for (const Op* op : all[i].ops) ir::Clone(op, b_, map);
      const Value* old = all[i].buffer->result();
      Op* fetch = ir::Clone(all[i].fetch, b_, map);
      std::vector<Op*> users;
      for (const ir::Use& use : old->uses()) {
        if (passes::IsInside(use.user, fetch)) users.push_back(use.user);
      }
      for (Op* user : users) MoveUse(user, old, rings_[i], slot);
    }
  }

  /// Replaces the buffer by the current iteration's slot of the ring.
  void Replace(const Fetched& fetched, Value* ring) {
    const Value* old = fetched.buffer->result();
    ir::Erase(fetched.fetch);
    while (!old->uses().empty()) {
      Op* user = old->uses().front().user;
      if (user->kind() == OpKind::AsyncCopyWait) {
        AwaitNoMore(user, old);
        continue;
      }
      MoveUse(user, old, ring, ring_.slot());
    }
    ir::Erase(fetched.buffer);
  }

  static void AwaitNoMore(Op* await, const Value* old) {
    std::vector<Value*> others;
    for (Value* buffer : await->operands()) {
      if (buffer != old) others.push_back(buffer);
    }
    others.empty() ? ir::Erase(await) : await->SetSegment(ir::AsyncCopyWaitOp::at_buffers, others);
  }

  /// Returns whether the `if` writes to slots of the current iteration and to no other buffers.
  bool FillsRings(const Op* branch) const {
    bool fills = false;
    bool others = false;
    ir::Walk(branch->region(0), [&](const Op* op) {
      if (op->kind() != OpKind::BufferStore) return;
      Value* buffer = ir::BufferStoreOp(const_cast<Op*>(op)).buffer();
      bool is_own = op->Segment(ir::BufferStoreOp::at_index)[0] == ring_.slot();
      (is_own && std::ranges::count(rings_, buffer) > 0 ? fills : others) = true;
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
  std::vector<Value*> rings_;
};

int64_t FetchedBytes(const std::vector<Fetched>& all) {
  int64_t bytes = 0;
  for (const Fetched& fetched : all) bytes += ir::WorkgroupBytes(fetched.buffer->result()->type());
  return bytes;
}

}  // namespace

void RunPipelineAsyncCopies(PassContext& context, ir::Function& kernel) {
  // Ring buffers would have to survive a grid-wide barrier or an iteration of a stage, but workgroup memory
  // does not.
  if (!OpsOfKind(kernel, OpKind::Sync).empty() || !OpsOfKind(kernel, OpKind::Stage).empty()) return;
  int64_t room = SimtFactsOf(context).ring_bytes - ir::WorkgroupBytes(kernel);
  for (Op* loop : OpsOfKind(kernel, OpKind::Loop)) {
    std::vector<Fetched> all = FetchStudy(loop).Find();
    if (all.empty()) continue;
    int64_t wanted =
        loop->HasAttr(AttrKey::Ahead) ? loop->attr<AttrKey::Ahead>() : context.Value(kCopiesAhead);
    int64_t ahead = std::min(wanted, room / FetchedBytes(all));
    if (ahead < 1) continue;
    room -= ahead * FetchedBytes(all);
    FetchRewriter(context.module, loop, ahead).RewriteLoop(all);
  }
}

}  // namespace kdl::simt
