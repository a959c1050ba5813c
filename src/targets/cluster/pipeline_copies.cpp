#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

#include "ir/ring.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "ir/workgroup_memory.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cluster/passes.h"
#include "targets/simt/analysis/iteration_needs.h"
#include "targets/simt/facts.h"
#include "targets/simt/rings/ring_loop.h"

// pipeline-copies: starts the copies for a loop's iteration one or more iterations earlier, so that they
// overlap with the computation of other iterations. The buffer gets a slot (room for one tile) for each
// iteration in flight. Unless the source says otherwise, copies start one iteration ahead if the scratchpad
// has room.
//
//   loop %k in 0 .. %K step 16 {
//     %A = buffer_new : …[64,16]; workgroup
//     loop {threads} { copy_in %a[%i, %k] to %A[0, 0] ; await_copies %A }
//     … }
//   ->
//   %A = buffer_new : buffer<f32,[2,64,16]; workgroup>
//   loop {threads} { if 0 < %K { copy_in %a[%i, 0] to %A[0, 0, 0] … } }
//   loop %k in 0 .. %K step 16 {
//     %s = %k / 16 rem 2
//     loop {threads} {
//       await_copies %A[%s]
//       if … { copy_in %a[%i, %k + 16] to %A[(%s + 1) rem 2, 0, 0] } }
//     … }

namespace kdl::cluster {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

using simt::Fetched;

bool HasKind(const ir::Region* region, std::initializer_list<OpKind> kinds) {
  bool has = false;
  ir::Walk(region,
           [&](const Op* op) { has |= std::ranges::find(kinds, op->kind()) != kinds.end(); });
  return has;
}

/// Finds the tiles that each iteration of a loop copies. Each tile is found together with the workgroup loop
/// that starts its copy and waits for it.
class LoopStudy {
 public:
  /// `kernel` is the kernel's whole body.
  LoopStudy(const ir::Region* kernel, Op* loop)
      : loop_(loop), changing_(Waits(loop->region()) ? kernel : loop->region()) {}

  std::vector<Fetched> Find() {
    if (HasKind(loop_->region(), {OpKind::Sync}))
      return {};  // other cores' writes become visible only after the `sync`
    return simt::FetchedBy(loop_, [this](Op* op) { return At(op); });
  }

 private:
  std::optional<Fetched> At(Op* op) {
    if (!op->HasAttr(AttrKey::Threads) || op->region()->first() == nullptr) return std::nullopt;
    const Op* await = nullptr;
    for (const Op* inner : *op->region()) {
      if (inner->kind() == OpKind::AwaitCopies) await = inner;
    }
    if (!await) return std::nullopt;
    Op* buffer = await->operand(0)->def();
    Fetched brought{op, buffer, {}};
    if (buffer->parent_region() != loop_->region() || !simt::HasPlainUses(buffer) ||
        ChangesSources(op) || !simt::AddSlice(loop_, op, brought.ops))
      return std::nullopt;
    return brought;
  }

  bool ChangesSources(const Op* fetch) const {
    bool changes = false;
    ir::Walk(fetch->region(), [&](const Op* op) {
      if (op->kind() != OpKind::CopyIn) return;
      const Value* tensor = op->operand(op->SegmentBegin(ir::CopyInOp::at_tensor));
      changes |= simt::ChangesMemory(changing_, ir::MemoryOf(tensor));
    });
    return changes;
  }

  /// Whether an iteration may wait for a pipe. While it waits, other stages run.
  static bool Waits(const ir::Region* region) {
    return HasKind(region, {OpKind::Acquire, OpKind::Wait});
  }

  Op* loop_;
  /// The code that may run between the start of a copy and the use of its data.
  const ir::Region* changing_;
};

/// Rewrites one loop so that its copies start in earlier iterations.
class LoopRewriter {
 public:
  /// `brief` is true if the launch has grid-wide barriers but none of them is in the loop, so that the ring
  /// buffer need not survive such a barrier.
  LoopRewriter(ir::Module& module, Op* loop, int64_t ahead, bool brief)
      : b_(module), ahead_(ahead), brief_(brief), ring_(b_, loop, ahead) {}

  void RewriteAll(const std::vector<Fetched>& all) {
    for (const Fetched& brought : all) Rewrite(brought);
  }

 private:
  void Rewrite(const Fetched& brought) {
    const Value* old = brought.buffer->result();
    Value* buffer = ring_.NewRing(old);
    if (brief_) buffer->def()->SetAttr(ir::MakeAttr<AttrKey::Brief>(1));
    auto copy = [&](Value* at, Value* slot) { CopyAt(brought, buffer, at, slot); };
    Once([&] {
      for (int64_t number = 0; number < ahead_; ++number)
        ring_.FirstIteration(b_.I64(number), copy);
    });
    b_.SetInsertionPoint(brought.fetch);
    Once([&] {
      b_.Create(OpKind::AwaitCopies, {{buffer}, {ring_.slot()}}, {});
      ring_.IterationAhead(copy);
    });
    ir::Erase(brought.fetch);
    while (!old->uses().empty()) simt::MoveUse(old->uses().front().user, old, buffer, ring_.slot());
    ir::Erase(brought.buffer);
  }

  void Once(const std::function<void()>& effect) {
    Value* zero = b_.I64(0);
    Value* one = b_.I64(1);
    MakeWorkgroupLoop(b_, {zero, one}, [&](Value*) { effect(); });
  }

  /// Emits the copies for iteration `at`, into `slot` of the buffer, at the builder's insertion point.
  void CopyAt(const Fetched& brought, Value* buffer, Value* at, Value* slot) {
    ir::ValueMap map;
    map[ring_.iteration()] = at;
    for (Op* op : brought.ops) ir::Clone(op, b_, map);
    ir::Region* into = b_.region();
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
      for (ir::Region* region : op->regions()) ir::Walk(region, visit);
    }
    for (Op* copy : copies)
      simt::SetSlot(copy, ir::CopyInOp::at_buffer, ir::CopyInOp::at_place, buffer, slot);
    for (Op* await : awaits) ir::Erase(await);
  }

  ir::Builder b_;
  int64_t ahead_;
  bool brief_;
  simt::RingLoop ring_;
};

int64_t FetchedBytes(const std::vector<Fetched>& all) {
  int64_t bytes = 0;
  for (const Fetched& brought : all) bytes += ir::WorkgroupBytes(brought.buffer->result()->type());
  return bytes;
}

/// Returns the number of bytes that the kernel's pipes will occupy once their slots have become buffers.
int64_t PipeBytes(const ir::Function& kernel) {
  int64_t bytes = 0;
  for (const Op* pipe : ir::PipesOf(kernel))
    bytes += ir::WorkgroupBytes(pipe->result()->type()) * pipe->attr<AttrKey::Depth>();
  return bytes;
}

}  // namespace

void RunPipelineCopies(PassContext& context, ir::Function& kernel) {
  const auto& facts = simt::SimtFactsOf(context);
  int64_t room = facts.workgroup_limit - ir::WorkgroupBytes(kernel);
  if (!facts.global_pipes) room -= PipeBytes(kernel);
  bool goes_on = HasKind(kernel.body, {OpKind::Sync});
  for (Op* loop : OpsOfKind(kernel, OpKind::Loop)) {
    std::vector<Fetched> all = LoopStudy(kernel.body, loop).Find();
    int64_t ahead =
        loop->HasAttr(AttrKey::Ahead) ? loop->attr<AttrKey::Ahead>() : context.Value(kCopiesAhead);
    bool fits = ahead * FetchedBytes(all) <= room;
    if (all.empty() || (!fits && !loop->HasAttr(AttrKey::Ahead))) continue;
    room -= ahead * FetchedBytes(all);
    LoopRewriter(context.module, loop, ahead, goes_on).RewriteAll(all);
  }
}

}  // namespace kdl::cluster
