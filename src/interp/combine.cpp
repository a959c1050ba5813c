#include <algorithm>
#include <utility>

#include "interp/handlers.h"
#include "ir/views.h"

// Folds and scans by a region, which runs once for each step: for each element with the accumulators of its lane, then,
// where the order is lanes64, for each two lanes that become one.

namespace kdl::interp {

namespace {

constexpr size_t kLanes = 64;

bool IsScan(const Instruction& instruction) { return instruction.op->kind() == ir::OpKind::Scan; }

/// The place of the present element in a tile over the values' axes; a scan may walk them downwards.
size_t PlaceOf(const Instruction& instruction, const CombineState& state) {
  int64_t inner = state.terms.offset(0);
  bool down =
      IsScan(instruction) && instruction.op->attr<ir::AttrKey::Walk>() == ir::WalkKind::Down;
  if (down) inner = state.last_term - inner;
  return static_cast<size_t>(state.points.offset(0) + inner);
}

void StartLanes(Activation& here, const Instruction& instruction, CombineState& state) {
  size_t count = instruction.results.size();
  std::vector<uint64_t> inits;
  for (size_t i = 0; i < count; ++i) inits.push_back(here.scalar(instruction.operands[count + i]));
  bool lanes = instruction.fold->order == ir::OrderKind::Lanes64;
  state.lanes.assign(lanes ? kLanes : 1, inits);
  state.terms.Restart();
  state.width = 0;
}

void KeepAt(CombineState& state, size_t place, const std::vector<uint64_t>& accumulators) {
  for (size_t i = 0; i < accumulators.size(); ++i)
    state.outputs[i]->elements[place] = accumulators[i];
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

/// Hands the region accumulators and what they take in.
void BeginStep(Frame& frame, const std::vector<uint64_t>& accumulators,
               const std::vector<uint64_t>& terms) {
  const std::vector<Slot>& params = frame.block->params;
  for (size_t i = 0; i < accumulators.size(); ++i) {
    frame.here->scalar(params[i]) = accumulators[i];
    frame.here->scalar(params[accumulators.size() + i]) = terms[i];
  }
  frame.next = 0;
}

void BeginTerm(Frame& frame, CombineState& state) {
  const Instruction& instruction = *frame.owner;
  bool lanes = state.lanes.size() > 1;
  size_t last_axis = instruction.points->reduced - 1;
  state.lane = lanes ? static_cast<size_t>(state.terms.position(last_axis)) % kLanes : 0;
  size_t place = PlaceOf(instruction, state);
  std::vector<uint64_t> terms;
  for (size_t i = 0; i < instruction.results.size(); ++i)
    terms.push_back(frame.here->tile(instruction.operands[i])->elements[place]);
  bool before =
      IsScan(instruction) && instruction.op->attr<ir::AttrKey::Keep>() == ir::KeepKind::Before;
  if (before) KeepAt(state, place, state.lanes[0]);
  BeginStep(frame, state.lanes[state.lane], terms);
}

/// Goes on to the next step that there is, of this element or of a later one; false: all are done.
bool BeginNext(Frame& frame, CombineState& state) {
  for (; !state.points.done(); state.points.Next(), StartLanes(*frame.here, *frame.owner, state)) {
    if (!state.terms.done()) {
      BeginTerm(frame, state);
      return true;
    }
    if (state.lanes.size() > 1 && state.width == 0) {
      state.width = kLanes / 2;
      state.lane = 0;
    }
    if (state.lanes.size() > 1 && state.width != kFolded) {
      BeginStep(frame, state.lanes[state.lane], state.lanes[state.lane + state.width]);
      return true;
    }
    if (!IsScan(*frame.owner)) KeepAt(state, state.number++, state.lanes[0]);
  }
  return false;
}

}  // namespace

void StartCombine(Core& core, Activation& here, const Instruction& instruction) {
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  if (!OperandsFit(core, here, instruction, ranges)) return;
  std::vector<int64_t> sizes = SizesOf(ranges);
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
                     0,
                     0,
                     {}};
  std::vector<AxisRange> kept(ranges.begin(), ranges.begin() + split);
  for (size_t i = 0; i < instruction.results.size(); ++i)
    state.outputs.push_back(MakeTile(IsScan(instruction) ? tile->ranges : kept));
  StartLanes(here, instruction, state);
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
  std::vector<uint64_t>& accumulators = state.lanes[state.lane];
  for (size_t i = 0; i < accumulators.size(); ++i)
    accumulators[i] = frame.here->scalar(yield.operands[i]);
  if (state.width != 0) {
    if (++state.lane == state.width) {
      state.width = state.width == 1 ? kFolded : state.width / 2;
      state.lane = 0;
    }
  } else {
    bool after =
        IsScan(instruction) && instruction.op->attr<ir::AttrKey::Keep>() == ir::KeepKind::After;
    if (after) KeepAt(state, PlaceOf(instruction, state), accumulators);
    state.terms.Next();
  }
  if (BeginNext(frame, state)) return;
  KeepOutputs(*frame.here, instruction, state);
  core.frames.pop_back();
}

}  // namespace kdl::interp
