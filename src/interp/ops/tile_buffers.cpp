#include "interp/ops/tile_buffers.h"

#include <algorithm>
#include "interp/ops/memory.h"

#include "interp/elements.h"
#include "ir/views.h"

// Executes ops on tile buffers, which are scratch memory that is indexed by axes. An element is stored at its
// position relative to the start of the block of each axis.

namespace kdl::interp {

namespace {

/// Returns where the tile begins along an axis of the tile buffer.
int64_t BeginAlong(Activation& here, const Instruction& instruction, size_t axis,
                   const AxisRange& range) {
  const TileBufferPlan& plan = *instruction.tile_buffer;
  int64_t begin = range.start - here.blocks[plan.axes[axis].whole].start;
  if (axis != plan.last || plan.panel_operand < 0) return begin;
  auto panel = here.scalar(instruction.operands[static_cast<size_t>(plan.panel_operand)]);
  return static_cast<int64_t>(panel) * plan.panel + begin % plan.panel;
}

/// Returns whether the tile crosses the boundary between two panels.
bool CrossesPanels(const TileBufferPlan& plan, int64_t begin, int64_t size) {
  return plan.panel_operand >= 0 && begin % plan.panel + size > plan.panel;
}

/// Calls `element(offset)` for each element that exists, in the order of the tile. If the tile is not within
/// the tile buffer, reports an internal error and returns false.
template <class Element>
bool ForEach(Core& core, Activation& here, const Instruction& instruction,
             const std::vector<AxisRange>& ranges, Element element) {
  int64_t base = 0;
  std::vector<int64_t> strides;
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    const TileBufferPlan::Axis& whole = instruction.tile_buffer->axes[axis];
    int64_t begin = BeginAlong(here, instruction, axis, ranges[axis]);
    bool crosses = axis == instruction.tile_buffer->last &&
                   CrossesPanels(*instruction.tile_buffer, begin, ranges[axis].size);
    if (begin < 0 || ranges[axis].size > whole.extent - begin || crosses) {
      core.Break(instruction, "needs more elements than the tile buffer has");
      return false;
    }
    base += begin * whole.stride;
    strides.push_back(whole.stride);
  }
  for (PointWalk walk(RangeSizes(ranges), {strides}); !walk.done(); walk.Next()) {
    if (!element(base + walk.offset(0))) return false;
  }
  return true;
}

}  // namespace

void RunTileBuffer(Core& core, Activation& here, const Instruction& instruction) {
  RunBufferNew(core, here, instruction);
}

void RunLoadTile(Core& core, Activation& here, const Instruction& instruction) {
  const Buffer& tile_buffer = here.buffers[instruction.operands[0].index];
  auto tile = MakeTile(RangesOf(*instruction.points, here));
  size_t instead = instruction.op->SegmentBegin(ir::LoadTileOp::at_value);
  if (instruction.operands.size() > instead &&
      here.scalar(instruction.operands[instead + 1]) != 0) {
    std::fill(tile->elements.begin(), tile->elements.end(),
              here.scalar(instruction.operands[instead]));
    here.tile(instruction.results[0]) = std::move(tile);
    return;
  }
  size_t next = 0;
  bool got = ForEach(core, here, instruction, tile->ranges, [&](int64_t offset) {
    if (!IsDefined(core, instruction, tile_buffer, offset)) return false;
    tile->elements[next++] = tile_buffer.elements[static_cast<size_t>(offset)];
    return true;
  });
  if (got) here.tile(instruction.results[0]) = std::move(tile);
}

void RunStoreTile(Core& core, Activation& here, const Instruction& instruction) {
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  if (!OperandsFit(core, here, instruction, ranges)) return;
  Buffer& tile_buffer = here.buffers[instruction.operands[1].index];
  const TileRef& tile = here.tile(instruction.operands[0]);
  size_t next = 0;
  ForEach(core, here, instruction, ranges, [&](int64_t offset) {
    tile_buffer.Define(offset, tile->elements[next++]);
    return true;
  });
}

void RunMove(Core&, Activation& here, const Instruction& instruction) {
  const Buffer& from = here.buffers[instruction.operands[0].index];
  here.buffers[instruction.operands[1].index] = from;
}

}  // namespace kdl::interp
