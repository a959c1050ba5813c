#include <algorithm>
#include <bit>

#include "ir/op_info.h"
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

/// Whether a vector load begins at a constant distance from the points, as `x[i + 1]` does.
bool IsShifted(const LastAxis& last, const Op* op) {
  if (op->kind() != OpKind::Load || last.IsInvariant(op)) return false;
  ir::Access access = op->attr<AttrKey::Access>();
  return !access.dims.empty() && !IsConstant(access.dims.back().offset, 0);
}

/// Whether the time of the loop is that of loads, several of which are not aligned whatever the addresses of the tensors are. As
/// vectors of a cache line, all of these would access two lines, and as vectors of half a line, every second one does.
bool CrossesLines(const Op* elementwise, const LastAxis& last) {
  int64_t shifted = 0;
  int64_t loads = 0;
  int64_t computed = 0;
  for (const Op* op : *elementwise->region()) {
    if (last.IsInvariant(op)) continue;
    if (IsShifted(last, op)) ++shifted;
    if (op->kind() == OpKind::Load) ++loads;
    if (op->info().is_computed()) ++computed;
  }
  return shifted >= 2 && 2 * loads >= computed;
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
  bool is_plain = folds_.empty() && !last_.scan_axis() && last_.step_groups().empty();
  bool fills_line = lanes * last_.ChunkBytes() >= e_.facts.cache_line_bytes;
  if (is_plain && fills_line && CrossesLines(elementwise_, last_)) return lanes / 2;
  if (!OnlyAsks(elementwise_)) return lanes;
  int64_t most = std::min(e_.facts.cache_line_bytes / last_.Bytes(), e_.Extent(axes_.back()));
  return std::max(lanes, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most))));
}

}  // namespace kdl::cpu
