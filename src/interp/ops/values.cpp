#include "interp/ops/values.h"

#include <bit>

// Executes ops that compute values from other values.

namespace kdl::interp {

void RunNumber(Core&, Activation& here, const Instruction& instruction) {
  here.scalar(instruction.results[0]) = static_cast<uint64_t>(instruction.number);
}

void RunScalarElementwise(Core& core, Activation& here, const Instruction& instruction) {
  uint64_t operands[3];
  size_t count = 0;
  for (Slot slot : instruction.operands) operands[count++] = here.scalar(slot);
  bool division_by_zero = false;
  here.scalar(instruction.results[0]) = instruction.eval(operands, &division_by_zero);
  if (division_by_zero) core.Stop({KDL_TRAP_DIVISION, instruction.op, -1, 0, 0});
}

void RunBound(Core&, Activation& here, const Instruction& instruction) {
  uint64_t values[4];
  uint64_t bounds[3];
  size_t operands = (instruction.operands.size() - 1) / 2;
  for (size_t i = 0; i <= operands; ++i) values[i] = here.scalar(instruction.operands[i]);
  for (size_t i = 0; i < operands; ++i)
    bounds[i] = here.scalar(instruction.operands[1 + operands + i]);
  double bound = instruction.bound(values, operands == 0 ? nullptr : bounds);
  here.scalar(instruction.results[0]) = std::bit_cast<uint64_t>(bound);
}

void RunTileElementwise(Core& core, Activation& here, const Instruction& instruction) {
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  if (!OperandsFit(core, here, instruction, ranges)) return;
  const uint64_t* sources[3];
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    Slot slot = instruction.operands[i];
    TileRef tile = slot.kind == SlotKind::Tile ? here.tile(slot) : nullptr;
    strides.push_back(OperandStrides(*instruction.points, i, ranges, tile));
    sources[i] = SlotElements(here, slot);
  }
  bool division_by_zero = false;
  uint64_t operands[3];
  auto result = MakeTile(ranges);
  uint64_t* out = result->elements.data();
  for (PointWalk walk(RangeSizes(ranges), strides); !walk.done(); walk.Next()) {
    for (size_t i = 0; i < strides.size(); ++i) operands[i] = sources[i][walk.offset(i)];
    *out++ = instruction.eval(operands, &division_by_zero);
  }
  if (division_by_zero) return core.Stop({KDL_TRAP_DIVISION, instruction.op, -1, 0, 0});
  here.tile(instruction.results[0]) = std::move(result);
}

void RunBlockStart(Core&, Activation& here, const Instruction& instruction) {
  here.scalar(instruction.results[0]) =
      static_cast<uint64_t>(here.block(instruction.operands[0]).start);
}

void RunBlockSize(Core&, Activation& here, const Instruction& instruction) {
  here.scalar(instruction.results[0]) =
      static_cast<uint64_t>(here.block(instruction.operands[0]).size);
}

void RunBlockIndex(Core&, Activation& here, const Instruction& instruction) {
  here.scalar(instruction.results[0]) =
      static_cast<uint64_t>(here.block(instruction.operands[0]).index);
}

void RunMakeBlock(Core& core, Activation& here, const Instruction& instruction) {
  BlockFacts facts{static_cast<int64_t>(here.scalar(instruction.operands[0])),
                   static_cast<int64_t>(here.scalar(instruction.operands[1])),
                   static_cast<int64_t>(here.scalar(instruction.operands[2]))};
  if (facts.size < 0)
    return core.Break(instruction, fmt::format("makes a block of {} elements", facts.size));
  here.block(instruction.results[0]) = facts;
}

void RunIota(Core&, Activation& here, const Instruction& instruction) {
  const BlockFacts& block = here.block(instruction.operands[0]);
  auto tile = MakeTile({{block.start, block.size}});
  for (size_t i = 0; i < tile->elements.size(); ++i)
    tile->elements[i] = static_cast<uint64_t>(block.start) + i;
  here.tile(instruction.results[0]) = std::move(tile);
}

void RunElement(Core& core, Activation& here, const Instruction& instruction) {
  Slot source = instruction.operands[0];
  if (source.kind == SlotKind::Scalar) {
    here.scalar(instruction.results[0]) = here.scalar(source);
    return;
  }
  const TileRef& tile = here.tile(source);
  if (!tile) return core.Break(instruction, "uses a tile that has no value yet");
  size_t offset = 0;
  for (size_t axis = 0; axis < tile->ranges.size(); ++axis) {
    const AxisRange& range = tile->ranges[axis];
    auto index = static_cast<int64_t>(here.scalar(instruction.operands[axis + 1]));
    if (index < range.start || index - range.start >= range.size) {
      return core.Break(instruction,
                        fmt::format("reads index {} of axis number {}, whose block is {} + {}",
                                    index, axis, range.start, range.size));
    }
    offset = offset * static_cast<size_t>(range.size) + static_cast<size_t>(index - range.start);
  }
  here.scalar(instruction.results[0]) = tile->elements[offset];
}

void RunCoreId(Core& core, Activation& here, const Instruction& instruction) {
  here.scalar(instruction.results[0]) = static_cast<uint64_t>(core.facts.core_id);
}

void RunCoreNum(Core& core, Activation& here, const Instruction& instruction) {
  here.scalar(instruction.results[0]) = static_cast<uint64_t>(core.facts.core_num);
}

}  // namespace kdl::interp
