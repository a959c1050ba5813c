#include <algorithm>
#include <bit>

#include "ir/op_kind.h"
#include "targets/cpu/analysis/live_vectors.h"
#include "targets/cpu/expand/elementwise_body.h"

// Decides how many elements a vector of an elementwise loop has.

namespace kdl::cpu {

namespace {

bool OnlyAsks(const Op* elementwise) {
  bool asks = false;
  for (const Op* op : *elementwise->region()) {
    if (op == elementwise->region()->terminator()) continue;
    if (op->kind() != OpKind::Prefetch) return false;
    asks = true;
  }
  return asks && elementwise->results().empty();
}

bool HasFma(const Op* elementwise) {
  bool has = false;
  ir::Walk(elementwise->region(), [&](const Op* op) {
    has = has || op->kind() == OpKind::Fma || op->kind() == OpKind::FmaFlush;
  });
  return has;
}

/// Whether the tile is part of a buffer in which rows are cut into panels or groups.
bool IsInPanels(const Value* tile) {
  auto has_panels = [](const Value* buffer) {
    return buffer->type()->panel > 0 || buffer->type()->group > 1;
  };
  const Op* def = tile->def();
  if (def && def->kind() == OpKind::LoadTile) return has_panels(def->operand(0));
  return std::ranges::any_of(tile->uses(), [&](const ir::Use& use) {
    return use.user->kind() == OpKind::StoreTile && has_panels(use.user->operand(1));
  });
}

/// Whether the loop reads or makes tiles in panels, beyond which vectors must not reach.
bool HasPanels(const Op* elementwise) {
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::Element && IsInPanels(op->operand(0))) return true;
  }
  return std::ranges::any_of(elementwise->results(), IsInPanels);
}

}  // namespace

/// Whether the body has an fma for which the processor has no instruction, and vectors may take two registers.
bool ElementwiseLoopBody::HasSlowFma() const {
  return !e_.facts.processor.has_fma && last_.step_groups().empty() && !last_.scan_axis() &&
         HasFma(elementwise_) && !HasPanels(elementwise_);
}

/// Returns the number of elements in a chunk. If the body only prefetches, a chunk is one cache line. If debuggers are to
/// show the tiles, there is only one loop, which they can follow element by element.
int64_t ElementwiseLoopBody::Lanes() const {
  if (!last_.Vectorizes() || e_.context.keeps_tiles) return 1;
  int64_t lanes = e_.LanesAlong(axes_.back(), ChunkBytesOf(elementwise_, last_, e_.facts));
  // Without its instruction, an fma is a sequence of 20 to 40 instructions, most of which wait for the one before. The
  // sequences of two registers run at the same time (tests/bench/NOTES.md, "Two vectors of fma at a time").
  if (HasSlowFma() && e_.Extent(axes_.back()) >= 4 * lanes) return 2 * lanes;
  if (!OnlyAsks(elementwise_)) return lanes;
  int64_t most = std::min(e_.facts.cache_line_bytes / last_.Bytes(), e_.Extent(axes_.back()));
  return std::max(lanes, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most))));
}

}  // namespace kdl::cpu
