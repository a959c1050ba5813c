#include "interp/ops/combine.h"

#include <algorithm>
#include <utility>

#include "ir/views.h"

// Executes the ops `multi_reduce`, `scan` and `scan_in_loop`, whose region runs once for each element.

namespace kdl::interp {

namespace {

bool IsScan(const Instruction& instruction) { return instruction.op->kind() == ir::OpKind::Scan; }

/// Returns the offset of the current element in the tiles that are combined. For a scan in descending order,
/// terms are counted from the end.
size_t CurrentOffset(const Instruction& instruction, const CombineState& state) {
  int64_t inner = state.terms.offset(0);
  bool down = IsScan(instruction) &&
              instruction.op->attr<ir::AttrKey::Direction>() == ir::DirectionKind::Down;
  if (down) inner = state.last_term - inner;
  return static_cast<size_t>(state.points.offset(0) + inner);
}

void StartSequence(Activation& here, const Instruction& instruction, CombineState& state) {
  size_t count = instruction.results.size();
  state.accumulators.resize(count);
  for (size_t i = 0; i < count; ++i)
    state.accumulators[i] = here.scalar(instruction.operands[count + i]);
  state.terms.Restart();
}

void KeepAt(CombineState& state, size_t place) {
  for (size_t i = 0; i < state.accumulators.size(); ++i)
    state.outputs[i]->elements[place] = state.accumulators[i];
}

void KeepOutputs(Activation& here, const Instruction& instruction, CombineState& state) {
  for (size_t i = 0; i < instruction.results.size(); ++i) {
    Slot target = instruction.results[i];
    if (target.kind == SlotKind::Scalar) {
      here.scalar(target) = state.outputs[i]->elements[0];
    } else {
      here.tile(target) = std::move(state.outputs[i]);
    }
  }
}

/// Passes the accumulators and the next term to the region.
void BeginTerm(Frame& frame, CombineState& state) {
  const Instruction& instruction = *frame.owner;
  size_t place = CurrentOffset(instruction, state);
  bool before =
      IsScan(instruction) && instruction.op->attr<ir::AttrKey::Keep>() == ir::KeepKind::Before;
  if (before) KeepAt(state, place);
  const std::vector<Slot>& params = frame.block->params;
  size_t count = state.accumulators.size();
  for (size_t i = 0; i < count; ++i) {
    frame.here->scalar(params[i]) = state.accumulators[i];
    frame.here->scalar(params[count + i]) =
        frame.here->tile(instruction.operands[i])->elements[place];
  }
  frame.next = 0;
}

/// Continues with the next term of the current element or, if there is none, with a later element. Returns
/// false if no term is left.
bool BeginNext(Frame& frame, CombineState& state) {
  for (; !state.points.done();
       state.points.Next(), StartSequence(*frame.here, *frame.owner, state)) {
    if (!state.terms.done()) {
      BeginTerm(frame, state);
      return true;
    }
    if (!IsScan(*frame.owner)) KeepAt(state, state.number++);
  }
  return false;
}

}  // namespace

void StartCombine(Core& core, Activation& here, const Instruction& instruction) {
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  if (!OperandsFit(core, here, instruction, ranges)) return;
  std::vector<int64_t> sizes = RangeSizes(ranges);
  TileRef tile = here.tile(instruction.operands[0]);
  std::vector<int64_t> strides = OperandStrides(*instruction.points, 0, ranges, tile);
  auto split = static_cast<ptrdiff_t>(ranges.size() - instruction.points->reduced);
  auto outer = [split](const auto& all) {
    return std::vector<int64_t>(all.begin(), all.begin() + split);
  };
  auto inner = [split](const auto& all) {
    return std::vector<int64_t>(all.begin() + split, all.end());
  };
  CombineState state{PointWalk(outer(sizes), {outer(strides)}),
                     PointWalk(inner(sizes), {inner(strides)}),
                     inner(strides).back() * (inner(sizes).back() - 1),
                     {},
                     0,
                     {}};
  std::vector<AxisRange> kept(ranges.begin(), ranges.begin() + split);
  for (size_t i = 0; i < instruction.results.size(); ++i)
    state.outputs.push_back(MakeTile(IsScan(instruction) ? tile->ranges : kept));
  StartSequence(here, instruction, state);
  core.frames.push_back(
      {&here, &here.code->blocks[instruction.regions[0]], 0, &instruction, std::move(state)});
  Frame& frame = core.frames.back();
  auto& started = std::get<CombineState>(frame.control);
  if (BeginNext(frame, started)) return;
  KeepOutputs(here, instruction, started);
  core.frames.pop_back();
}

void YieldCombine(Core& core, Frame& frame, const Instruction& yield) {
  auto& state = std::get<CombineState>(frame.control);
  const Instruction& instruction = *frame.owner;
  for (size_t i = 0; i < state.accumulators.size(); ++i)
    state.accumulators[i] = frame.here->scalar(yield.operands[i]);
  bool after =
      IsScan(instruction) && instruction.op->attr<ir::AttrKey::Keep>() == ir::KeepKind::After;
  if (after) KeepAt(state, CurrentOffset(instruction, state));
  state.terms.Next();
  if (BeginNext(frame, state)) return;
  KeepOutputs(*frame.here, instruction, state);
  core.frames.pop_back();
}

namespace {

/// Returns the accumulators of the scan for the row of the elementwise loop's current point.
std::vector<uint64_t>& RowAccumulators(PointState& state, const Instruction& scan) {
  auto scanned = static_cast<size_t>(scan.number);
  std::vector<int64_t> row;
  for (size_t axis = 0; axis < scan.op->parent_region()->params().size(); ++axis)
    row.push_back(axis == scanned ? 0 : state.walk.position(axis));
  return state.scans[{&scan, std::move(row)}];
}

}  // namespace

void StartScanInLoop(Core& core, Activation& here, const Instruction& instruction) {
  auto& state = std::get<PointState>(core.frames.back().control);
  std::vector<uint64_t>& accumulators = RowAccumulators(state, instruction);
  size_t count = instruction.results.size();
  accumulators.resize(count);
  const RegionCode& region = here.code->blocks[instruction.regions[0]];
  for (size_t i = 0; i < count; ++i) {
    if (state.walk.position(static_cast<size_t>(instruction.number)) == 0)
      accumulators[i] = here.scalar(instruction.operands[count + i]);
    here.scalar(region.params[i]) = accumulators[i];
    here.scalar(region.params[count + i]) = here.scalar(instruction.operands[i]);
  }
  core.frames.push_back({&here, &region, 0, &instruction, {}});
}

void YieldScanInLoop(Core& core, Frame& frame, const Instruction& yield) {
  const Instruction& instruction = *frame.owner;
  auto& state = std::get<PointState>(core.frames[core.frames.size() - 2].control);
  std::vector<uint64_t>& accumulators = RowAccumulators(state, instruction);
  bool before = instruction.op->attr<ir::AttrKey::Keep>() == ir::KeepKind::Before;
  std::vector<uint64_t> after;
  for (size_t i = 0; i < accumulators.size(); ++i)
    after.push_back(frame.here->scalar(yield.operands[i]));
  for (size_t i = 0; i < accumulators.size(); ++i)
    frame.here->scalar(instruction.results[i]) = before ? accumulators[i] : after[i];
  accumulators = std::move(after);
  core.frames.pop_back();
}

}  // namespace kdl::interp
