#include "interp/ops/while.h"

#include <algorithm>

// Executes a `while` on scalars, tiles or vectors. Its body runs as long as the condition is true for any
// element. Elements that have ended keep their values.

namespace kdl::interp {

namespace {

size_t ElementCountOfSlot(const Activation& here, Slot slot) {
  if (slot.kind == SlotKind::Tile) return here.tiles[slot.index]->elements.size();
  return slot.kind == SlotKind::Vector ? here.vectors[slot.index].size() : 1;
}

bool AnyGoesOn(const Activation& here, Slot condition) {
  const uint64_t* flags = SlotElements(here, condition);
  return std::any_of(flags, flags + ElementCountOfSlot(here, condition),
                     [](uint64_t on) { return on != 0; });
}

/// Returns the elements of `next` where the condition is true, and the elements of `kept` elsewhere. The
/// axes of the condition are a subset of `axes`.
TileRef MergeTiles(const Tile& next, const Tile& kept, const Tile& condition,
                   const ir::AxisList& axes, const ir::AxisList& condition_axes) {
  std::vector<int64_t> own = StridesOf(condition.ranges);
  std::vector<int64_t> strides;
  for (ir::AxisId axis : axes) {
    auto found = std::find(condition_axes.begin(), condition_axes.end(), axis);
    size_t place = static_cast<size_t>(found - condition_axes.begin());
    strides.push_back(place < own.size() ? own[place] : 0);
  }
  std::shared_ptr<Tile> merged = MakeTile(next.ranges);
  size_t at = 0;
  for (PointWalk walk(RangeSizes(next.ranges), {strides}); !walk.done(); walk.Next(), ++at) {
    bool goes_on = condition.elements[static_cast<size_t>(walk.offset(0))] != 0;
    merged->elements[at] = goes_on ? next.elements[at] : kept.elements[at];
  }
  return merged;
}

/// Restores the values of elements that had already ended before this iteration.
void KeepEnded(Frame& frame, const Instruction& yield) {
  Activation& here = *frame.here;
  const std::vector<Slot>& params = frame.block->params;
  const ir::Region* region = frame.owner->op->region();
  if (params[0].kind == SlotKind::Tile) {
    TileRef condition = here.tile(params[0]);
    for (size_t i = 0; i < params.size(); ++i) {
      here.tile(params[i]) =
          MergeTiles(*here.tile(yield.operands[i]), *here.tile(params[i]), *condition,
                     region->param(i)->type()->axes, region->param(0)->type()->axes);
    }
    return;
  }
  std::vector<uint64_t> condition = here.vector(params[0]);
  for (size_t i = 0; i < params.size(); ++i) {
    for (size_t lane = 0; lane < condition.size(); ++lane) {
      if (condition[lane] != 0) here.vector(params[i])[lane] = here.vector(yield.operands[i])[lane];
    }
  }
}

}  // namespace

void StartWhile(Core& core, Activation& here, const Instruction& instruction) {
  if (!AnyGoesOn(here, instruction.operands[0])) {
    return MoveValues(here, instruction.operands, 0, here, instruction.results, 0);
  }
  const RegionCode& block = here.code->blocks[instruction.regions[0]];
  core.frames.push_back({&here, &block, 0, &instruction, LoopState()});
  MoveValues(here, instruction.operands, 0, here, block.params, 0);
}

void YieldWhile(Core& core, Frame& frame, const Instruction& yield) {
  const std::vector<Slot>& params = frame.block->params;
  if (params[0].kind == SlotKind::Scalar) {
    MoveValues(*frame.here, yield.operands, 0, *frame.here, params, 0);
  } else {
    KeepEnded(frame, yield);
  }
  frame.next = 0;
  ++std::get<LoopState>(frame.control).number;
  if (AnyGoesOn(*frame.here, params[0])) return;
  MoveValues(*frame.here, params, 0, *frame.here, frame.owner->results, 0);
  core.frames.pop_back();
}

}  // namespace kdl::interp
