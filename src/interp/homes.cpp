#include <algorithm>

#include "interp/elements.h"
#include "interp/handlers.h"

// Homes of tiles: scratch over axes. An element stands at its position from the start of each axis's block.

namespace kdl::interp {

namespace {

/// Calls `element(offset)` with the place of each element that exists, in a tile's order; false, with the core broken, where a
/// block is larger than the home.
template <class Element>
bool ForEach(Core& core, const Instruction& instruction, const std::vector<AxisRange>& ranges,
             Element element) {
  std::vector<AxisRange> extents;
  for (int64_t extent : instruction.numbers) extents.push_back({0, extent});
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    if (ranges[axis].size <= extents[axis].size) continue;
    core.Break(instruction, "needs more elements than the home has");
    return false;
  }
  for (PointWalk walk(SizesOf(ranges), {StridesOf(extents)}); !walk.done(); walk.Next()) {
    if (!element(walk.offset(0))) return false;
  }
  return true;
}

}  // namespace

void RunHome(Core& core, Activation& here, const Instruction& instruction) {
  RunBufferNew(core, here, instruction);
}

void RunGet(Core& core, Activation& here, const Instruction& instruction) {
  const Buffer& home = here.buffers[instruction.operands[0].index];
  auto tile = MakeTile(RangesOf(*instruction.points, here));
  if (instruction.operands.size() > 1 && here.scalar(instruction.operands[2]) != 0) {
    std::fill(tile->elements.begin(), tile->elements.end(), here.scalar(instruction.operands[1]));
    here.tile(instruction.results[0]) = std::move(tile);
    return;
  }
  size_t next = 0;
  bool got = ForEach(core, instruction, tile->ranges, [&](int64_t offset) {
    if (!IsDefined(core, instruction, home, offset)) return false;
    tile->elements[next++] = home.elements[static_cast<size_t>(offset)];
    return true;
  });
  if (got) here.tile(instruction.results[0]) = std::move(tile);
}

void RunPut(Core& core, Activation& here, const Instruction& instruction) {
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  if (!OperandsFit(core, here, instruction, ranges)) return;
  Buffer& home = here.buffers[instruction.operands[1].index];
  const TileRef& tile = here.tile(instruction.operands[0]);
  size_t next = 0;
  ForEach(core, instruction, ranges, [&](int64_t offset) {
    Define(home, offset, tile->elements[next++]);
    return true;
  });
}

void RunMove(Core&, Activation& here, const Instruction& instruction) {
  const Buffer& from = here.buffers[instruction.operands[0].index];
  here.buffers[instruction.operands[1].index] = from;
}

}  // namespace kdl::interp
