#include "targets/cpu/expand/permutation.h"

#include <algorithm>

#include "ir/op_info.h"
#include "ir/op_kind.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

namespace {

/// Counts what a loop's accesses need.
class AccessCount {
 public:
  AccessCount(const Op* elementwise, const LastAxis& last) : last_(last) {
    for (const Op* op : *elementwise->region()) Count(op);
  }

  bool Saves() const { return fits_ && apart_ > static_cast<int64_t>(along_.size()); }

 private:
  void Count(const Op* op) {
    const StepGroup* group = last_.StepGroupOf(op);
    if (group) {
      fits_ = fits_ && group->step == 2;
      apart_ += IsTakenApart(op) ? 1 : 0;
    } else if (op->kind() == OpKind::Load || op->kind() == OpKind::Store) {
      CountAlong(op);
    } else if (op->kind() == OpKind::Yield) {
      fits_ = fits_ && op->operands().empty();
    } else {
      fits_ = fits_ && op->info().is_computed();
    }
  }

  bool IsTakenApart(const Op* op) const {
    if (op->kind() == OpKind::Store) return true;
    const auto& uses = op->result()->uses();
    const StepGroup* user = uses.size() == 1 ? last_.StepGroupOf(uses[0].user) : nullptr;
    bool widens =
        std::ranges::all_of(uses, [](const ir::Use& use) { return WidensTwofold(use.user); });
    return !widens && (!user || uses[0].user->kind() == OpKind::Store);
  }

  /// Counts an access to consecutive elements, unless it loads the same elements as another one.
  void CountAlong(const Op* op) {
    bool is_load = op->kind() == OpKind::Load;
    auto mask = op->Segment(is_load ? size_t{ir::LoadOp::at_mask} : size_t{ir::StoreOp::at_mask});
    fits_ = fits_ && mask.empty();
    auto uniform = [&](const Value* index) { return last_.IsUniform(index); };
    if (std::ranges::all_of(IndexOf(op), uniform)) return;
    bool is_repeated = is_load && std::ranges::any_of(along_, [&](const Op* other) {
                         return other->kind() == OpKind::Load && TensorOf(other) == TensorOf(op) &&
                                std::ranges::equal(IndexOf(other), IndexOf(op)) &&
                                other->attr<AttrKey::Access>() == op->attr<AttrKey::Access>();
                       });
    if (!is_repeated) along_.push_back(op);
  }

  const LastAxis& last_;
  bool fits_ = true;
  int64_t apart_ = 0;
  std::vector<const Op*> along_;
};

}  // namespace

int64_t PointInLane(int64_t lane, int64_t lanes, int64_t bytes) {
  int64_t in_part = kPartBytes / bytes;
  int64_t half = in_part / 2;
  int64_t part = lane / in_part;
  int64_t place = lane % in_part;
  return part * half + place % half + (place < half ? 0 : lanes / 2);
}

bool SavesPermuting(const ProcessorFacts& facts, const Op* elementwise, const LastAxis& last) {
  constexpr int64_t kAvx2Bits = 256;
  bool in_parts = facts.processor.arch == "x86-64" && facts.vector_bits == kAvx2Bits;
  return in_parts && last.Bytes() <= kPartBytes / 2 && AccessCount(elementwise, last).Saves();
}

}  // namespace kdl::cpu
