#include "targets/simt/rings/fetches.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/simt/analysis/iteration_needs.h"
#include "targets/simt/rings/ring_loop.h"

namespace kdl::simt {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::AnyBelow;
using passes::OutsideOperands;

namespace {

bool HasKind(const ir::Region* region, OpKind kind) {
  return AnyBelow(region, [&](const Op* op) { return op->kind() == kind; });
}

bool AwaitsItself(const Op* fetch) { return HasKind(fetch->region(0), OpKind::AsyncCopyWait); }

bool MayTrapIn(const ir::Region* region) { return AnyBelow(region, passes::MayTrap); }

/// Returns how the op fetches a tile, if it does.
FetchKind KindOf(const Op* fetch) {
  if (fetch->kind() != OpKind::If) return FetchKind::FirstThread;
  return FetchesTensorTile(fetch) ? FetchKind::Mbarriers : FetchKind::Groups;
}

/// Returns the buffer that the copies in `op` fill, or null if there are none. Copies that arrive at an mbarrier have
/// a ring already.
Op* FilledBuffer(const Op* op) {
  Op* buffer = nullptr;
  ir::Walk(op->region(0), [&](Op* inner) {
    if (inner->kind() != OpKind::AsyncCopy || ir::AsyncCopyOp(inner).mbarriers()) return;
    if (ir::CopyEndsOf(inner).in) buffer = ir::CopyEndsOf(inner).buffer->def();
  });
  return buffer;
}

bool TouchesOnly(const Op* fetch, const Value* buffer) {
  return std::ranges::all_of(OutsideOperands(fetch), [&](const Value* used) {
    return used->type()->kind != ir::TypeKind::Buffer || used == buffer;
  });
}

/// If the matrix instructions that read the buffer are in one workgroup loop of the iteration, which waits for them,
/// returns this loop, otherwise null.
Op* ReaderOf(const Op* loop, const Value* buffer) {
  Op* reader = nullptr;
  for (const ir::Use& use : buffer->uses()) {
    if (use.user->kind() != OpKind::Mma) continue;
    Op* around = use.user->parent_region()->parent();
    bool is_other = reader && around != reader;
    if (is_other || !around->HasAttr(AttrKey::Threads) || around->parent_region() != loop->region())
      return nullptr;
    reader = around;
  }
  if (!reader) return nullptr;
  for (const Op* op : *reader->region()) {
    if (op->kind() == OpKind::MmaWait && op->attr<AttrKey::Ahead>() == 0) return reader;
  }
  return nullptr;
}

class FetchStudy {
 public:
  FetchStudy(const ir::Function& kernel, Op* loop)
      : kernel_(kernel),
        loop_(loop),
        changing_(MayWaitForPipes(loop) ? kernel.body : loop->region()) {}

  std::optional<Fetched> At(Op* op) const {
    bool is_branch = op->kind() == OpKind::If && op->results().empty();
    if (!is_branch && !op->HasAttr(AttrKey::Threads)) return std::nullopt;
    Op* buffer = FilledBuffer(op);
    if (!buffer || buffer->parent_region() != loop_->region() || !HasPlainUses(buffer))
      return std::nullopt;
    Fetched fetched{op, buffer, {}, KindOf(op), ReaderOf(loop_, buffer->result())};
    bool repeats = TouchesOnly(op, buffer->result()) && AddSlice(loop_, op, fetched.ops) &&
                   KeepsSources(op) && IsSafe(fetched);
    return repeats ? std::optional(std::move(fetched)) : std::nullopt;
  }

 private:
  /// While an iteration waits for a pipe, other stages run.
  static bool MayWaitForPipes(const Op* loop) {
    return HasKind(loop->region(), OpKind::Acquire) || HasKind(loop->region(), OpKind::Wait);
  }

  /// Returns whether nothing that may run between the start of the copies and their use changes the tensors that the
  /// fetch reads.
  bool KeepsSources(const Op* fetch) const {
    auto is_changed = [&](const Value* operand) {
      return operand->type()->kind == ir::TypeKind::Tensor &&
             ChangesMemory(changing_, ir::MemoryOf(operand));
    };
    return std::ranges::none_of(fetch->regions(), [&](const ir::Region* region) {
      return AnyBelow(
          region, [&](const Op* op) { return std::ranges::any_of(op->operands(), is_changed); });
    });
  }

  bool IsSafe(const Fetched& fetched) const {
    switch (fetched.kind) {
      case FetchKind::Groups:
        return !AwaitsItself(fetched.fetch) && IsSafeForAll(fetched);
      case FetchKind::FirstThread:
        // What other cores write becomes visible only after a `sync`.
        return AwaitsItself(fetched.fetch) && !HasKind(loop_->region(), OpKind::Sync);
      case FetchKind::Mbarriers:
        // No thread may leave an iteration while others wait for it.
        return fetched.reader && !MayTrapIn(loop_->region()) && IsSafeForAll(fetched);
    }
    return false;
  }

  /// Returns whether all threads can fetch ahead: the ring would have to survive a grid-wide barrier or an iteration of
  /// a stage, but workgroup memory does not. All threads would execute a trap.
  bool IsSafeForAll(const Fetched& fetched) const {
    return !HasKind(kernel_.body, OpKind::Sync) && !HasKind(kernel_.body, OpKind::Stage) &&
           std::ranges::none_of(fetched.ops, passes::MayTrap) &&
           std::ranges::none_of(fetched.fetch->regions(), MayTrapIn);
  }

  const ir::Function& kernel_;
  Op* loop_;
  const ir::Region* changing_;  ///< the code that may run between the start of a copy and its use
};

}  // namespace

std::vector<Fetched> FetchedTiles(const ir::Function& kernel, Op* loop) {
  std::vector<Fetched> all;
  // Threads may share the iterations, or the loop may end early.
  if (loop->HasAttr(AttrKey::Threads) || loop->HasAttr(AttrKey::Breaks) ||
      loop->HasAttr(AttrKey::DynamicCounter))
    return all;
  FetchStudy study(kernel, loop);
  for (Op* op : *loop->region()) {
    if (std::optional<Fetched> one = study.At(op)) all.push_back(std::move(*one));
  }
  return all;
}

bool FetchesTensorTile(const Op* op) {
  if (op->kind() != OpKind::If || !op->results().empty()) return false;
  for (const Op* loop : *op->region(0)) {
    if (!loop->HasAttr(AttrKey::Threads)) continue;
    for (Op* inner : *loop->region()) {
      if (inner->kind() != OpKind::AsyncCopy) continue;
      ir::AsyncCopyOp copy(inner);
      return copy.sizes().empty() && !copy.mbarriers() && AwaitsItself(op);
    }
  }
  return false;
}

}  // namespace kdl::simt
