#include "interp/ops/gather.h"

#include "ir/views.h"

// Executes `gather`, which indexes a tile along named axes. Computes one element of the result at a time.

namespace kdl::interp {

namespace {

/// The elements of an operand, and its strides along the points of the result.
struct Stream {
  const uint64_t* elements = nullptr;
  std::vector<int64_t> strides;
};

Stream StreamOf(Activation& here, const Instruction& instruction, size_t operand,
                const std::vector<AxisRange>& ranges) {
  Slot slot = instruction.operands[operand];
  TileRef tile = slot.kind == SlotKind::Tile ? here.tile(slot) : nullptr;
  return {SlotElements(here, slot), OperandStrides(*instruction.points, operand, ranges, tile)};
}

/// Returns the strides of the tile along the axes that are indexed.
std::vector<int64_t> TakenStrides(const Instruction& instruction, const Tile& tile) {
  std::vector<int64_t> all = StridesOf(tile.ranges);
  const std::vector<ir::AxisId>& axes = instruction.op->operand(0)->type()->axes;
  std::vector<int64_t> strides;
  for (ir::AxisId axis : instruction.op->attr<ir::AttrKey::Axes>()) {
    auto found = std::find(axes.begin(), axes.end(), axis);
    strides.push_back(all[static_cast<size_t>(found - axes.begin())]);
  }
  return strides;
}

/// Returns whether the tile has a value. The tile's ranges are not checked, because indexed axes may have any
/// range.
bool TileFits(Core& core, Activation& here, const Instruction& instruction) {
  const TileRef& tile = here.tile(instruction.operands[0]);
  if (!tile) core.Break(instruction, "gathers from a tile that has no value yet");
  return tile != nullptr;
}

}  // namespace

void RunGather(Core& core, Activation& here, const Instruction& instruction) {
  if (!TileFits(core, here, instruction)) return;
  const ir::Op& op = *instruction.op;
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  TileRef tile = here.tile(instruction.operands[0]);
  std::vector<int64_t> taken = TakenStrides(instruction, *tile);
  size_t first_index = op.SegmentBegin(ir::GatherOp::at_index);
  bool has_else = !op.Segment(ir::GatherOp::at_otherwise).empty();
  bool has_mask = !op.Segment(ir::GatherOp::at_mask).empty();
  std::vector<Stream> streams;
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    streams.push_back(StreamOf(here, instruction, i, ranges));
    strides.push_back(streams.back().strides);
  }
  // An indexed axis may also be an axis of the indices, and therefore of the result. The tile does not vary
  // along such an axis of the result.
  const std::vector<ir::AxisId>& points = instruction.points->axes;
  for (ir::AxisId axis : op.attr<ir::AttrKey::Axes>()) {
    auto found = std::find(points.begin(), points.end(), axis);
    if (found != points.end()) strides[0][static_cast<size_t>(found - points.begin())] = 0;
  }
  auto result = MakeTile(ranges);
  uint64_t* out = result->elements.data();
  for (PointWalk walk(RangeSizes(ranges), strides); !walk.done(); walk.Next(), ++out) {
    auto at = [&](size_t i) { return streams[i].elements[walk.offset(i)]; };
    *out = UnspecifiedBits(op.result()->type()->scalar);
    if (has_mask && at(instruction.operands.size() - 1) == 0) continue;
    int64_t place = walk.offset(0);
    bool inside = true;
    for (size_t i = 0; i < taken.size() && inside; ++i) {
      const BlockFacts& block = here.blocks[instruction.taken[i]];
      auto index = static_cast<int64_t>(at(first_index + i) - static_cast<uint64_t>(block.start));
      inside = index >= 0 && index < block.size;
      if (inside) place += index * taken[i];
      if (!inside && !has_else)
        return core.Stop({KDL_TRAP_INDEX, &op, static_cast<int32_t>(i), index, block.size});
    }
    *out = inside ? streams[0].elements[place] : at(first_index + taken.size());
  }
  Slot target = instruction.results[0];
  if (target.kind == SlotKind::Scalar) {
    here.scalar(target) = result->elements[0];
  } else {
    here.tile(target) = std::move(result);
  }
}

}  // namespace kdl::interp
