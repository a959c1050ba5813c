#include "targets/cpu/analysis/accumulators.h"

#include <algorithm>

#include "ir/views.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::cpu {

namespace {

/// Returns the value's use if it has exactly one, otherwise null.
const ir::Use* OnlyUse(const Value* value) {
  return value->uses().size() == 1 ? &value->uses()[0] : nullptr;
}

/// Returns the contraction that accumulates into the tile that `get` loads, or null if there is none.
Op* ContractionFrom(const Op* get) {
  const ir::Use* into = OnlyUse(get->result());
  bool starts = into && into->user->kind() == OpKind::Contraction &&
                into->operand == into->user->SegmentBegin(ir::ContractionOp::at_into) &&
                into->user->attr<ir::AttrKey::Order>() == ir::OrderKind::Sequential;
  return starts ? into->user : nullptr;
}

}  // namespace

Op* AccumulatorOf(const Op* loop, const Value* tile_buffer) {
  const Op* from = nullptr;
  const Op* to = nullptr;
  for (const ir::Use& use : tile_buffer->uses()) {
    if (!IsInside(use.user, loop)) continue;
    const Op*& place = use.user->kind() == OpKind::LoadTile ? from : to;
    if (place || use.user->parent_region() != loop->region()) return nullptr;
    place = use.user;
  }
  Op* contraction = from ? ContractionFrom(from) : nullptr;
  bool goes_on = contraction && contraction->parent_region() == loop->region() && to &&
                 to->kind() == OpKind::StoreTile && to->operand(0) == contraction->result();
  return goes_on ? contraction : nullptr;
}

std::vector<const Value*> AccumulatedIn(const Op* loop) {
  std::vector<const Value*> tile_buffers;
  for (const Op* op : *loop->region()) {
    if (op->kind() == OpKind::LoadTile && AccumulatorOf(loop, op->operand(0)))
      tile_buffers.push_back(op->operand(0));
  }
  return tile_buffers;
}

bool Touches(const Op* op, const Value* value) {
  return std::ranges::any_of(value->uses(),
                             [&](const ir::Use& use) { return IsInside(use.user, op); });
}

}  // namespace kdl::cpu
