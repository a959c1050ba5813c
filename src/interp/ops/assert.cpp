#include "interp/ops/assert.h"

#include "ir/views.h"

// Executes assertions on scalars, tiles or vectors. The first element for which an assertion is false stops
// the core.

namespace kdl::interp {

namespace {

bool HoldsInVector(const Activation& here, const Instruction& instruction) {
  size_t lanes = 0;
  for (Slot slot : instruction.operands) {
    if (slot.kind == SlotKind::Vector) lanes = here.vectors[slot.index].size();
  }
  auto at = [&](size_t operand, size_t lane) {
    Slot slot = instruction.operands[operand];
    return SlotElements(here, slot)[slot.kind == SlotKind::Vector ? lane : 0] != 0;
  };
  for (size_t lane = 0; lane < lanes; ++lane) {
    bool counts = instruction.operands.size() == 1 || at(1, lane);
    if (counts && !at(0, lane)) return false;
  }
  return true;
}

bool HoldsInTile(Core& core, Activation& here, const Instruction& instruction) {
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  if (!OperandsFit(core, here, instruction, ranges)) return true;
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    Slot slot = instruction.operands[i];
    TileRef tile = slot.kind == SlotKind::Tile ? here.tile(slot) : nullptr;
    strides.push_back(OperandStrides(*instruction.points, i, ranges, tile));
  }
  auto at = [&](size_t operand, int64_t offset) {
    return SlotElements(here, instruction.operands[operand])[offset] != 0;
  };
  for (PointWalk walk(RangeSizes(ranges), strides); !walk.done(); walk.Next()) {
    bool counts = strides.size() == 1 || at(1, walk.offset(1));
    if (counts && !at(0, walk.offset(0))) return false;
  }
  return true;
}

}  // namespace

void RunAssert(Core& core, Activation& here, const Instruction& instruction) {
  bool in_vector = false;
  for (Slot slot : instruction.operands) in_vector |= slot.kind == SlotKind::Vector;
  bool holds = in_vector ? HoldsInVector(here, instruction) : HoldsInTile(core, here, instruction);
  if (!holds) core.Stop({KDL_TRAP_ASSERT, instruction.op, -1, 0, 0});
}

}  // namespace kdl::interp
