#include "interp/ops/control.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <tuple>
#include <utility>
#include "interp/ops/folds.h"
#include "interp/ops/tile_call.h"

#include "interp/launch_state.h"
#include "interp/workgroup.h"
#include "ir/groups.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "support/check.h"

// Executes ops with regions. The start of a region pushes a frame. The region's yield either starts the next
// execution of the region, or pops the frame and stores the results of the op.

namespace kdl::interp {

namespace {

Frame& Push(Core& core, Activation& here, const Instruction& owner, size_t region) {
  core.frames.push_back({&here, &here.code->blocks[owner.regions[region]], 0, &owner, {}});
  return core.frames.back();
}

int64_t ScalarAt(Activation& here, const Instruction& instruction, size_t operand) {
  return static_cast<int64_t>(here.scalar(instruction.operands[operand]));
}

/// Returns hi - lo, where lo < hi. The result may not fit in an int64_t.
uint64_t Remaining(int64_t lo, int64_t hi) {
  return static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo);
}

/// Sets the first parameter of the region: the block of a `for`, the index of a `loop`.
void BeginIteration(Frame& frame) {
  const LoopState& state = std::get<LoopState>(frame.control);
  Slot param = frame.block->params[0];
  frame.next = 0;
  if (param.kind == SlotKind::Block) {
    auto size = std::min(static_cast<uint64_t>(state.step), Remaining(state.next, state.hi));
    frame.here->block(param) = {state.next, static_cast<int64_t>(size), state.number};
  } else {
    frame.here->scalar(param) = static_cast<uint64_t>(state.next);
  }
}

/// Returns the next iteration number for this core, out of the `count` numbers of this execution of the
/// loop. Returns nothing if none is left.
std::optional<int64_t> DynamicCounter(Core& core, const Instruction& loop, int64_t count) {
  KDL_CHECK(core.facts.launch, "'{}' is scheduled dynamically outside of a launch",
            loop.op->info().spelling);
  DynamicState& own = core.dynamic_counters[loop.op];
  if (!own.taken) own.taken = core.facts.launch->DynamicCounter(loop.op);
  int64_t number = *own.taken - own.before;
  if (number >= count) {
    own.before += count;
    return std::nullopt;
  }
  own.taken.reset();
  return number;
}

/// Returns the maximum length of the next block of a `split`: the first of the op's block sizes that is at
/// most the number of remaining elements. A size that is neither the first nor the last is also chosen if
/// fewer elements remain, provided that they are more than the next size.
int64_t NextSize(const Instruction& split, const LoopState& state) {
  uint64_t left = Remaining(state.next, state.hi);
  for (size_t i = 0; i + 1 < split.numbers.size(); ++i) {
    auto size = static_cast<uint64_t>(split.numbers[i]);
    auto next = static_cast<uint64_t>(split.numbers[i + 1]);
    if (size <= left || (i > 0 && next < left)) return split.numbers[i];
  }
  return split.numbers.back();
}

void StartCounted(Core& core, Activation& here, const Instruction& instruction, int64_t step,
                  size_t first_init) {
  LoopState state{ScalarAt(here, instruction, 0), ScalarAt(here, instruction, 1), step, 0};
  if (state.next >= state.hi) {
    return MoveValues(here, instruction.operands, first_init, here, instruction.results, 0);
  }
  Frame& frame = Push(core, here, instruction, 0);
  frame.control = state;
  MoveValues(here, instruction.operands, first_init, here, frame.block->params, 1);
  BeginIteration(frame);
}

void YieldCounted(Core& core, Frame& frame, const Instruction& yield) {
  auto& state = std::get<LoopState>(frame.control);
  bool ends = frame.owner->breaks && frame.here->scalar(yield.operands[0]) == 0;
  if (!ends && Remaining(state.next, state.hi) > static_cast<uint64_t>(state.step)) {
    MoveValues(*frame.here, yield.operands, 0, *frame.here, frame.block->params, 1);
    state.next += state.step;
    ++state.number;
    if (frame.owner->op->kind() == ir::OpKind::Split) state.step = NextSize(*frame.owner, state);
    return BeginIteration(frame);
  }
  MoveValues(*frame.here, yield.operands, 0, *frame.here, frame.owner->results, 0);
  core.frames.pop_back();
}

/// Sets the parameters for the block whose number is in the state.
void BeginSpmdBlock(Frame& frame) {
  auto& state = std::get<SpmdState>(frame.control);
  state.agent = 0;
  const Instruction& spmd = *frame.owner;
  int64_t rest = state.block;
  frame.next = 0;
  for (size_t b : std::views::reverse(spmd.order)) {
    int64_t number = rest % state.counts[b];
    rest /= state.counts[b];
    int64_t lo = ScalarAt(*frame.here, spmd, 2 * b);
    int64_t hi = ScalarAt(*frame.here, spmd, 2 * b + 1);
    int64_t extent = spmd.numbers[b];
    Slot param = frame.block->params[b];
    if (extent == 0) {
      frame.here->scalar(param) = static_cast<uint64_t>(lo) + static_cast<uint64_t>(number);
    } else {
      int64_t start = lo + number * extent;
      auto size = std::min(static_cast<uint64_t>(extent), Remaining(start, hi));
      frame.here->block(param) = {start, static_cast<int64_t>(size), number};
    }
  }
}

bool IsDynamic(const ir::Op* spmd) {
  return spmd->attr<ir::AttrKey::Distribute>() == ir::DistributionKind::Dynamic;
}

/// Returns the range of blocks, or groups, of a core. As in the pass `distribute-blocks`, each core gets the
/// same number of consecutive blocks, and each of the first cores may get one more block.
std::pair<int64_t, int64_t> BlocksOfCore(const CoreFacts& facts, int64_t total) {
  int64_t share = total / facts.core_num;
  int64_t more = total % facts.core_num;
  int64_t begin = facts.core_id * share + std::min(facts.core_id, more);
  return {begin, begin + share + (facts.core_id < more ? 1 : 0)};
}

void StartDynamic(Core& core, Activation& here, const Instruction& instruction) {
  LoopState state{0, ScalarAt(here, instruction, 1), 1, 0};
  std::optional<int64_t> first = DynamicCounter(core, instruction, std::max<int64_t>(state.hi, 0));
  if (!first) return;
  state.next = *first;
  Frame& frame = Push(core, here, instruction, 0);
  frame.control = state;
  BeginIteration(frame);
}

void YieldDynamic(Core& core, Frame& frame) {
  auto& state = std::get<LoopState>(frame.control);
  std::optional<int64_t> next = DynamicCounter(core, *frame.owner, state.hi);
  if (!next) return core.frames.pop_back();
  state.next = *next;
  BeginIteration(frame);
}

void BeginElementwiseLoopPoint(Frame& frame) {
  const PointState& state = std::get<PointState>(frame.control);
  frame.next = 0;
  for (size_t axis = 0; axis < frame.block->params.size(); ++axis) {
    int64_t start = frame.here->block(frame.owner->operands[axis]).start;
    int64_t position = state.walk.position(axis);
    if (state.down == axis) position = state.down_last - position;
    frame.here->scalar(frame.block->params[axis]) = static_cast<uint64_t>(start + position);
  }
}

/// Returns the position of the axis whose points the elementwise loop visits in descending order, if there is
/// one.
std::optional<size_t> DownAxis(const RegionCode& body) {
  for (const Instruction& instruction : body.instructions) {
    if (instruction.op->kind() == ir::OpKind::ScanInLoop &&
        instruction.op->attr<ir::AttrKey::Direction>() == ir::DirectionKind::Down)
      return static_cast<size_t>(instruction.number);
  }
  return std::nullopt;
}

/// Returns the reduce_in_loop ops in the body of an elementwise loop.
std::vector<const Instruction*> FoldsOf(const RegionCode& body) {
  std::vector<const Instruction*> folds;
  for (const Instruction& instruction : body.instructions) {
    if (instruction.op->kind() == ir::OpKind::ReduceInLoop) folds.push_back(&instruction);
  }
  return folds;
}

/// Sets the results of the reductions in an elementwise loop that has no points. If only reduced axes are
/// empty, the results are the initial values.
void FoldNothing(Activation& here, const RegionCode& body, const std::vector<AxisRange>& ranges,
                 const std::vector<std::vector<int64_t>>& strides, PointState& state) {
  const ir::Op* yield = body.instructions.back().op;
  for (const Instruction* fold : FoldsOf(body)) {
    std::vector<int64_t> sizes = RangeSizes(ranges);
    std::fill(sizes.end() - static_cast<ptrdiff_t>(fold->points->reduced), sizes.end(), 1);
    for (PointWalk walk(sizes, strides); !walk.done(); walk.Next()) {
      for (size_t i = 0; i < state.outputs.size(); ++i) {
        if (yield->operand(i) == fold->op->result())
          state.outputs[i]->elements[static_cast<size_t>(walk.offset(i))] =
              FoldOfNothing(here, *fold, walk);
      }
    }
  }
}

/// Moves to the next point that is not masked off, and sets the callee's arguments. Returns false if there
/// is no such point.
bool BeginCallPoint(Activation& here, const Instruction& call, PointState& state) {
  size_t mask = MaskOperand(call);
  const uint64_t* flags =
      mask < call.operands.size() ? SlotElements(here, call.operands[mask]) : nullptr;
  while (flags && !state.walk.done() && flags[state.walk.offset(mask)] == 0) state.walk.Next();
  if (state.walk.done()) return false;
  const std::vector<Slot>& params = call.callee->blocks[0].params;
  for (size_t i = 0; i < mask; ++i) {
    state.callee->scalar(params[i]) = SlotElements(here, call.operands[i])[state.walk.offset(i)];
  }
  return true;
}

void ReturnToCall(Core& core, Frame& frame, const Instruction& return_op) {
  auto& state = std::get<PointState>(frame.control);
  const Instruction& call = *frame.owner;
  Activation& caller = *core.frames[core.frames.size() - 2].here;
  auto place = static_cast<size_t>(state.walk.offset(call.operands.size()));
  for (size_t i = 0; i < state.outputs.size(); ++i)
    state.outputs[i]->elements[place] = frame.here->scalar(return_op.operands[i]);
  state.walk.Next();
  frame.next = 0;
  if (BeginCallPoint(caller, call, state)) return;
  KeepOutputs(caller, call, state);
  core.frames.pop_back();
}

}  // namespace

bool BeginsNextElement(Core& core) {
  Frame& frame = core.frames.back();
  auto& state = std::get<PointState>(frame.control);
  Activation& caller = *core.frames[core.frames.size() - 2].here;
  state.walk.Next();
  frame.next = 0;
  return IsTileCall(*frame.owner->op) ? BeginPoint(caller, *frame.owner, state)
                                      : BeginCallPoint(caller, *frame.owner, state);
}

void KeepOutputs(Activation& here, const Instruction& owner, PointState& state) {
  for (size_t i = 0; i < state.outputs.size(); ++i) {
    Slot target = owner.results[i];
    if (target.kind == SlotKind::Scalar) {
      here.scalar(target) = state.outputs[i]->elements[0];
    } else {
      here.tile(target) = std::move(state.outputs[i]);
    }
  }
}

size_t MaskOperand(const Instruction& call) { return call.op->SegmentBegin(ir::CallOp::at_mask); }

/// Starts this GPU thread's share of the iterations.
void StartWorkgroupLoop(Core& core, Activation& here, const Instruction& instruction,
                        int64_t step) {
  int64_t lo = ScalarAt(here, instruction, 0);
  int64_t hi = ScalarAt(here, instruction, 1);
  uint64_t iterations = lo >= hi ? 0 : (Remaining(lo, hi) - 1) / static_cast<uint64_t>(step) + 1;
  auto thread = static_cast<uint64_t>(core.facts.thread);
  if (thread >= iterations) return;
  Frame& frame = Push(core, here, instruction, 0);
  frame.control =
      LoopState{lo + core.facts.thread * step, hi, step * core.facts.workgroup->threads(), 0};
  BeginIteration(frame);
}

void StartFor(Core& core, Activation& here, const Instruction& instruction) {
  StartCounted(core, here, instruction, instruction.numbers[0], 2);
}

void StartSplit(Core& core, Activation& here, const Instruction& instruction) {
  const BlockFacts& whole = here.block(instruction.operands[0]);
  if (whole.size <= 0) return;
  Frame& frame = Push(core, here, instruction, 0);
  LoopState state{whole.start, whole.start + whole.size, 1, 0};
  state.step = NextSize(instruction, state);
  frame.control = state;
  BeginIteration(frame);
}

void StartLoop(Core& core, Activation& here, const Instruction& instruction) {
  if (instruction.dynamic_counters) return StartDynamic(core, here, instruction);
  int64_t step = ScalarAt(here, instruction, 2);
  if (step <= 0) return core.Stop({KDL_TRAP_STEP, instruction.op, -1, step, 0});
  if (instruction.op->HasAttr(ir::AttrKey::Threads))
    return StartWorkgroupLoop(core, here, instruction, step);
  StartCounted(core, here, instruction, step, 3);
}

/// Gives the core its share of an spmd that is distributed in groups: whole segments of the combined blocks.
void StartGroups(Core& core, Activation& here, const Instruction& instruction, SpmdState& state) {
  auto count = [&](const std::vector<size_t>& variables) {
    int64_t product = 1;
    for (size_t b : variables) product *= state.counts[b];
    return product;
  };
  state.combined = count(instruction.group_variables->combined);
  state.inner = count(instruction.group_variables->inner);
  int64_t segments = ir::SegmentCount(state.combined);
  for (const GroupTarget& target : instruction.group_targets)
    core.facts.launch->BeginGroups(here.tensor(target.tensor), target.how, state.run, segments);
  int64_t outer = count(instruction.group_variables->outer);
  auto begin = [&](int64_t part) {
    int64_t in_tile = ir::SegmentBegin(part % segments, state.combined, segments);
    return (part / segments * state.combined + in_tile) * state.inner;
  };
  auto [first, end] = BlocksOfCore(core.facts, outer * segments);
  state.block = begin(first);
  state.end = begin(end);
}

void StartSpmd(Core& core, Activation& here, const Instruction& instruction) {
  SpmdState state;
  if (core.facts.launch && core.facts.launch->watch)
    state.iteration = core.iterations[&instruction]++;
  int64_t total = 1;
  bool overflow = false;
  for (size_t b = 0; b < instruction.numbers.size(); ++b) {
    int64_t lo = ScalarAt(here, instruction, 2 * b);
    int64_t hi = ScalarAt(here, instruction, 2 * b + 1);
    int64_t extent = std::max<int64_t>(instruction.numbers[b], 1);
    uint64_t count = lo >= hi ? 0 : (Remaining(lo, hi) - 1) / static_cast<uint64_t>(extent) + 1;
    state.counts.push_back(static_cast<int64_t>(count));
    bool leaves = __builtin_mul_overflow(total, state.counts.back(), &total);
    overflow = overflow || leaves || state.counts.back() < 0;
  }
  if (std::ranges::count(state.counts, 0) > 0) total = 0;
  if (overflow && total != 0) return core.Break(instruction, "has a domain of 2^63 blocks or more");
  if (IsDynamic(instruction.op)) {
    std::optional<int64_t> first = DynamicCounter(core, instruction, total);
    state.end = total;
    state.block = first.value_or(total);
  } else if (instruction.group_variables) {
    state.total = total;
    state.run = core.grouped_runs[core.frames.front().owner]++;
    if (total > 0) StartGroups(core, here, instruction, state);
  } else {
    std::tie(state.block, state.end) = BlocksOfCore(core.facts, total);
  }
  if (state.block == state.end) return;
  Frame& frame = Push(core, here, instruction, 0);
  frame.control = std::move(state);
  BeginSpmdBlock(frame);
}

void StartElementwiseLoop(Core& core, Activation& here, const Instruction& instruction) {
  const PointsPlan& points = *instruction.points;
  std::vector<AxisRange> ranges = RangesOf(points, here);
  std::vector<std::shared_ptr<Tile>> outputs;
  std::vector<std::vector<int64_t>> strides;
  for (const ir::Value* result : instruction.op->results()) {
    const std::vector<ir::AxisId>& axes = result->type()->axes;
    std::vector<AxisRange> own(axes.size());
    std::vector<size_t> place(points.axes.size());
    for (size_t axis = 0; axis < points.axes.size(); ++axis) {
      place[axis] = static_cast<size_t>(std::find(axes.begin(), axes.end(), points.axes[axis]) -
                                        axes.begin());
      if (place[axis] < own.size()) own[place[axis]] = ranges[axis];
    }
    std::vector<int64_t> own_strides = StridesOf(own);
    strides.emplace_back();
    for (size_t axis : place) strides.back().push_back(axis < own.size() ? own_strides[axis] : 0);
    outputs.push_back(MakeTile(std::move(own)));
  }
  const RegionCode& body = here.code->blocks[instruction.regions[0]];
  std::optional<size_t> down = DownAxis(body);
  int64_t down_last = down ? ranges[*down].size - 1 : 0;
  std::vector<int64_t> down_start;
  for (std::vector<int64_t>& own : strides) {
    down_start.push_back(down ? own[*down] * down_last : 0);
    if (down) own[*down] = -own[*down];
  }
  PointState state{PointWalk(RangeSizes(ranges), strides), std::move(outputs), nullptr};
  state.down = down;
  state.down_last = down_last;
  state.down_start = std::move(down_start);
  state.folds.resize(FoldsOf(body).size());
  if (state.walk.done()) {
    FoldNothing(here, body, ranges, strides, state);
    return KeepOutputs(here, instruction, state);
  }
  Frame& frame = Push(core, here, instruction, 0);
  frame.control = std::move(state);
  BeginElementwiseLoopPoint(frame);
}

void StartIf(Core& core, Activation& here, const Instruction& instruction) {
  Push(core, here, instruction, here.scalar(instruction.operands[0]) != 0 ? 0 : 1);
}

void StartCall(Core& core, Activation& here, const Instruction& instruction) {
  if (IsTileCall(*instruction.op)) return StartTileCall(core, here, instruction);
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  if (!OperandsFit(core, here, instruction, ranges)) return;
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    Slot slot = instruction.operands[i];
    strides.push_back(OperandStrides(*instruction.points, i, ranges,
                                     slot.kind == SlotKind::Tile ? here.tile(slot) : nullptr));
  }
  strides.push_back(StridesOf(ranges));
  std::vector<std::shared_ptr<Tile>> outputs;
  for (const ir::Value* result : instruction.op->results()) {
    outputs.push_back(MakeTile(ranges));
    std::fill(outputs.back()->elements.begin(), outputs.back()->elements.end(),
              UnspecifiedBits(result->type()->scalar));
  }
  PointState state{PointWalk(RangeSizes(ranges), strides), std::move(outputs),
                   std::make_unique<Activation>(*instruction.callee)};
  if (!BeginCallPoint(here, instruction, state)) return KeepOutputs(here, instruction, state);
  core.frames.push_back(
      {state.callee.get(), instruction.callee->blocks.data(), 0, &instruction, {}});
  core.frames.back().control = std::move(state);
}

void YieldLoop(Core& core, Frame& frame, const Instruction& yield) {
  frame.owner->dynamic_counters ? YieldDynamic(core, frame) : YieldCounted(core, frame, yield);
}

void YieldSpmd(Core& core, Frame& frame, const Instruction&) {
  auto& state = std::get<SpmdState>(frame.control);
  bool dynamic = IsDynamic(frame.owner->op);
  std::optional<int64_t> next =
      dynamic ? DynamicCounter(core, *frame.owner, state.end) : std::optional(state.block + 1);
  if (!next || *next == state.end) return core.frames.pop_back();
  state.block = *next;
  BeginSpmdBlock(frame);
}

void YieldElementwiseLoop(Core& core, Frame& frame, const Instruction& yield) {
  auto& state = std::get<PointState>(frame.control);
  for (size_t i = 0; i < state.outputs.size(); ++i) {
    state.outputs[i]->elements[static_cast<size_t>(state.walk.offset(i) + state.down_start[i])] =
        frame.here->scalar(yield.operands[i]);
  }
  state.walk.Next();
  if (!state.walk.done()) return BeginElementwiseLoopPoint(frame);
  KeepOutputs(*frame.here, *frame.owner, state);
  core.frames.pop_back();
}

void YieldIf(Core& core, Frame& frame, const Instruction& yield) {
  MoveValues(*frame.here, yield.operands, 0, *frame.here, frame.owner->results, 0);
  core.frames.pop_back();
}

void RunYield(Core& core, Activation&, const Instruction& instruction) {
  Frame& frame = core.frames.back();
  frame.owner->yield(core, frame, instruction);
}

void RunReturn(Core& core, Activation& here, const Instruction& instruction) {
  Frame& frame = core.frames.back();
  if (frame.owner && IsTileCall(*frame.owner->op))
    return ReturnToTileCall(core, frame, instruction);
  if (frame.owner) return ReturnToCall(core, frame, instruction);
  if (!core.others.empty())
    return core.Block();  // the function returns after its stages have ended
  Workgroup* workgroup = core.facts.workgroup;
  if (workgroup && workgroup->copies().HasPending(core.facts.thread)) {
    workgroup->Stop(core, instruction, "ends before it has waited for an asynchronous copy");
    return;
  }
  core.results.clear();
  for (Slot slot : instruction.operands) core.results.push_back(here.scalar(slot));
  core.state = MachineState::Done;
}

}  // namespace kdl::interp
