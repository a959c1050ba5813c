#include "interp/ops/tile_call.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/views.h"

// Executes calls of fns that have ranges or pipes. The fn is called once for each point of the axes over
// which the call is mapped. The tiles in the fn are parts of the arguments, over the fn's own axes. The fn
// uses the blocks and pipes of the caller.

namespace kdl::interp {

namespace {

/// The caller's axis that is bound to an axis of the fn, and the slot of its block.
struct BoundAxis {
  ir::AxisId axis;
  Slot block;
};
using BoundAxes = std::map<ir::AxisId, BoundAxis>;

const std::vector<ir::Value*>& CalleeParams(const Instruction& call) {
  return call.callee->function->body->params();
}

BoundAxes CallerAxes(const Instruction& call) {
  BoundAxes bound;
  const std::vector<ir::Value*>& params = CalleeParams(call);
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i]->type()->kind != ir::TypeKind::Block) continue;
    bound[params[i]->type()->axes[0]] = {call.op->operand(i)->type()->axes[0], call.operands[i]};
  }
  return bound;
}

/// Returns the strides of a caller's tile along the fn's axes.
std::vector<int64_t> StridesAlong(const std::vector<ir::AxisId>& own, const BoundAxes& bound,
                                  const std::vector<ir::AxisId>& axes,
                                  const std::vector<AxisRange>& ranges) {
  std::vector<int64_t> all = StridesOf(ranges);
  std::vector<int64_t> strides;
  for (ir::AxisId axis : own) {
    auto found = std::find(axes.begin(), axes.end(), bound.at(axis).axis);
    strides.push_back(all[static_cast<size_t>(found - axes.begin())]);
  }
  return strides;
}

std::vector<AxisRange> OwnRanges(const std::vector<ir::AxisId>& own, const BoundAxes& bound,
                                 const Activation& here) {
  std::vector<AxisRange> ranges;
  for (ir::AxisId axis : own) {
    const BlockFacts& block = here.blocks[bound.at(axis).block.index];
    ranges.push_back({block.start, block.size});
  }
  return ranges;
}

/// Returns the part of an argument that is passed to the fn for one point.
std::shared_ptr<Tile> ArgumentPart(const Tile& tile, const std::vector<ir::AxisId>& axes,
                                   const std::vector<ir::AxisId>& own, const BoundAxes& bound,
                                   const Activation& here, int64_t offset) {
  std::shared_ptr<Tile> part = MakeTile(OwnRanges(own, bound, here));
  std::vector<int64_t> strides = StridesAlong(own, bound, axes, tile.ranges);
  size_t next = 0;
  for (PointWalk walk(RangeSizes(part->ranges), {strides}); !walk.done(); walk.Next()) {
    part->elements[next++] = tile.elements[static_cast<size_t>(offset + walk.offset(0))];
  }
  return part;
}

/// Returns the ranges of a result along the fn's axes and the axes over which the call is mapped.
std::vector<AxisRange> ResultRanges(const Instruction& call, const ir::Value* result,
                                    const Activation& here, const std::vector<AxisRange>& mapped) {
  std::vector<AxisRange> ranges;
  BoundAxes bound = CallerAxes(call);
  for (ir::AxisId axis : result->type()->axes) {
    const std::vector<ir::AxisId>& points = call.points->axes;
    auto found = std::find(points.begin(), points.end(), axis);
    if (found != points.end()) {
      ranges.push_back(mapped[static_cast<size_t>(found - points.begin())]);
      continue;
    }
    for (const auto& [own, caller] : bound) {
      if (caller.axis != axis) continue;
      const BlockFacts& block = here.blocks[caller.block.index];
      ranges.push_back({block.start, block.size});
    }
  }
  return ranges;
}

}  // namespace

bool IsTileCall(const ir::Op& call) {
  return std::any_of(call.operands().begin(), call.operands().end(), [](const ir::Value* value) {
    return value->type()->kind == ir::TypeKind::Block || value->type()->kind == ir::TypeKind::Pipe;
  });
}

bool BeginPoint(Activation& here, const Instruction& call, PointState& state) {
  size_t mask = MaskOperand(call);
  const uint64_t* flags =
      mask < call.operands.size() ? SlotElements(here, call.operands[mask]) : nullptr;
  while (flags && !state.walk.done() && flags[state.walk.offset(mask)] == 0) state.walk.Next();
  if (state.walk.done()) return false;
  BoundAxes bound = CallerAxes(call);
  const std::vector<Slot>& slots = call.callee->blocks[0].params;
  for (size_t i = 0; i < mask; ++i) {
    Slot from = call.operands[i];
    ir::Type wanted = CalleeParams(call)[i]->type();
    int64_t offset = state.walk.offset(i);
    if (wanted->kind == ir::TypeKind::Block) {
      state.callee->block(slots[i]) = here.block(from);
    } else if (wanted->kind == ir::TypeKind::Pipe) {
      state.callee->pipes[slots[i].index] = here.pipes[from.index];
    } else if (wanted->axes.empty()) {
      state.callee->scalar(slots[i]) = SlotElements(here, from)[offset];
    } else {
      state.callee->tile(slots[i]) = ArgumentPart(
          *here.tile(from), call.op->operand(i)->type()->axes, wanted->axes, bound, here, offset);
    }
  }
  return true;
}

void StartTileCall(Core& core, Activation& here, const Instruction& call) {
  std::vector<AxisRange> ranges = RangesOf(*call.points, here);
  if (!OperandsFit(core, here, call, ranges)) return;
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    Slot slot = call.operands[i];
    strides.push_back(OperandStrides(*call.points, i, ranges,
                                     slot.kind == SlotKind::Tile ? here.tile(slot) : nullptr));
  }
  std::vector<std::shared_ptr<Tile>> outputs;
  for (const ir::Value* result : call.op->results()) {
    const std::vector<ir::AxisId>& axes = result->type()->axes;
    outputs.push_back(MakeTile(ResultRanges(call, result, here, ranges)));
    Tile& output = *outputs.back();
    std::fill(output.elements.begin(), output.elements.end(),
              UnspecifiedBits(result->type()->scalar));
    std::vector<int64_t> all = StridesOf(output.ranges);
    strides.emplace_back();
    for (ir::AxisId axis : call.points->axes) {
      auto found = std::find(axes.begin(), axes.end(), axis);
      strides.back().push_back(all[static_cast<size_t>(found - axes.begin())]);
    }
  }
  PointState state{PointWalk(RangeSizes(ranges), strides), std::move(outputs),
                   std::make_unique<Activation>(*call.callee)};
  if (!BeginPoint(here, call, state)) return KeepOutputs(here, call, state);
  core.frames.push_back({state.callee.get(), call.callee->blocks.data(), 0, &call, {}});
  core.frames.back().control = std::move(state);
}

void ReturnToTileCall(Core& core, Frame& frame, const Instruction& return_op) {
  auto& state = std::get<PointState>(frame.control);
  const Instruction& call = *frame.owner;
  Activation& caller = *core.frames[core.frames.size() - 2].here;
  for (size_t i = 0; i < state.outputs.size(); ++i) {
    Tile& output = *state.outputs[i];
    int64_t place = state.walk.offset(call.operands.size() + i);
    Slot from = return_op.operands[i];
    const std::vector<ir::AxisId>& own = return_op.op->operand(i)->type()->axes;
    BoundAxes bound = CallerAxes(call);
    std::vector<int64_t> strides =
        StridesAlong(own, bound, call.op->result(i)->type()->axes, output.ranges);
    const uint64_t* elements = SlotElements(*frame.here, from);
    std::vector<int64_t> sizes = RangeSizes(OwnRanges(own, bound, caller));
    for (PointWalk walk(sizes, {strides}); !walk.done(); walk.Next()) {
      output.elements[static_cast<size_t>(place + walk.offset(0))] = *elements++;
    }
  }
  state.walk.Next();
  frame.next = 0;
  if (BeginPoint(caller, call, state)) return;
  KeepOutputs(caller, call, state);
  core.frames.pop_back();
}

}  // namespace kdl::interp
