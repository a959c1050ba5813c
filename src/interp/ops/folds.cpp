#include "interp/ops/folds.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ir/views.h"

// Executes reductions and contractions. The axes of the points are the axes of the result, followed by the
// reduced axes. For each element of the result, the terms are visited by a second walk over the reduced axes.
// It starts at the offsets that the walk over the result has computed.

namespace kdl::interp {

namespace {

constexpr size_t kLanes = 64;
using Lanes = std::array<uint64_t, kLanes>;

/// An operand over the points of a reduction, converted to the type of acc.
struct FoldOperand {
  std::vector<uint64_t> widened;
  const uint64_t* elements = nullptr;
  std::vector<int64_t> outer_strides;
  std::vector<int64_t> inner_strides;
};

/// Returns the operand's elements from an offset on, or null if it has none.
const uint64_t* ElementsAt(const FoldOperand& operand, int64_t offset) {
  return operand.elements ? operand.elements + offset : nullptr;
}

FoldOperand MakeFoldOperand(Activation& here, const Instruction& instruction, size_t number,
                            ir::EvalFn widen, const std::vector<AxisRange>& ranges) {
  FoldOperand operand;
  Slot slot = instruction.operands[number];
  TileRef tile = slot.kind == SlotKind::Tile ? here.tile(slot) : nullptr;
  operand.elements = SlotElements(here, slot);
  if (widen) {
    operand.widened.resize(tile ? tile->elements.size() : 1);
    for (size_t i = 0; i < operand.widened.size(); ++i)
      operand.widened[i] = widen(operand.elements + i, nullptr);
    operand.elements = operand.widened.data();
  }
  std::vector<int64_t> strides = OperandStrides(*instruction.points, number, ranges, tile);
  auto split = strides.end() - static_cast<ptrdiff_t>(instruction.points->reduced);
  operand.outer_strides.assign(strides.begin(), split);
  operand.inner_strides.assign(split, strides.end());
  return operand;
}

uint64_t Folded(ir::EvalFn fold, uint64_t a, uint64_t b) {
  uint64_t operands[] = {a, b};
  return fold(operands, nullptr);
}

/// Combines lane l with lane l + 32 for l < 32, then lane l with lane l + 16 for l < 16, and so on. Returns
/// lane 0, which is the result.
uint64_t FoldLanes(ir::EvalFn fold, Lanes& lanes) {
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; ++lane)
      lanes[lane] = Folded(fold, lanes[lane], lanes[lane + width]);
  }
  return lanes[0];
}

/// Combines all terms of one element of the result. `add(acc, walk)` adds the term at the walk's position.
/// With order `lanes64`, lane 0 starts from `start`.
template <class Add>
uint64_t FoldTerms(const FoldPlan& plan, PointWalk& walk, size_t last_axis, uint64_t start,
                   Add add) {
  walk.Restart();
  if (plan.order == ir::OrderKind::Sequential) {
    uint64_t acc = start;
    for (; !walk.done(); walk.Next()) acc = add(acc, walk);
    return acc;
  }
  Lanes lanes;
  lanes.fill(plan.identity);
  lanes[0] = start;
  for (; !walk.done(); walk.Next()) {
    uint64_t& lane = lanes[static_cast<size_t>(walk.position(last_axis)) % kLanes];
    lane = add(lane, walk);
  }
  return FoldLanes(plan.fold, lanes);
}

/// Computes the steps of a matrix instruction, starting from `start`. `read(walk, a, b)` reads the factors
/// of the term at the walk's position.
template <class Read>
uint64_t RunMatrixSteps(const ir::MatrixInstruction& mma, PointWalk& walk, size_t last_axis,
                        int64_t last_size, uint64_t start, Read read) {
  std::array<uint64_t, ir::kMaxInstructionDepth> a{};
  std::array<uint64_t, ir::kMaxInstructionDepth> b{};
  uint64_t acc = start;
  uint64_t apart = 0;
  for (walk.Restart(); !walk.done(); walk.Next()) {
    int64_t position = walk.position(last_axis);
    auto place = static_cast<size_t>(position % mma.depth);
    read(walk, a[place], b[place]);
    bool ends = place + 1 == static_cast<size_t>(mma.depth) || position + 1 == last_size;
    if (!ends) continue;
    uint64_t& sum = mma.apart > 0 ? apart : acc;
    sum = ir::RunStep(mma, sum, a.data(), b.data());
    a.fill(0);
    b.fill(0);
    bool is_taken = mma.apart > 0 && ((position + 1) % mma.apart == 0 || position + 1 == last_size);
    if (is_taken) acc = ir::TakeSum(mma, acc, std::exchange(apart, 0));
  }
  return acc;
}

/// Stores the value `element(walk)` for each point of the result.
template <class Element>
void FillResult(Activation& here, const Instruction& instruction, std::vector<AxisRange> ranges,
                const std::vector<std::vector<int64_t>>& strides, Element element) {
  ranges.resize(ranges.size() - instruction.points->reduced);
  auto result = MakeTile(ranges);
  uint64_t* out = result->elements.data();
  for (PointWalk walk(RangeSizes(ranges), strides); !walk.done(); walk.Next())
    *out++ = element(walk);
  Slot target = instruction.results[0];
  if (target.kind == SlotKind::Scalar) {
    here.scalar(target) = result->elements[0];
  } else {
    here.tile(target) = std::move(result);
  }
}

std::vector<int64_t> ReducedSizes(const Instruction& instruction,
                                  const std::vector<AxisRange>& ranges) {
  std::vector<int64_t> sizes = RangeSizes(ranges);
  return {sizes.end() - static_cast<ptrdiff_t>(instruction.points->reduced), sizes.end()};
}

/// Returns the initial value of a reduce_in_loop at the walk's point. There is one initial value for each
/// point of the loop's axes that are not reduced.
uint64_t InitialValue(Activation& here, const Instruction& fold, const PointWalk& walk) {
  size_t number = fold.op->SegmentBegin(ir::ReduceInLoopOp::at_into);
  if (number == fold.operands.size()) return fold.fold->identity;
  Slot into = fold.operands[number];
  size_t place = 0;
  if (into.kind == SlotKind::Tile) {
    const std::vector<int>& numbers = fold.points->axis_in_operand[number];
    std::vector<int64_t> strides = StridesOf(here.tile(into)->ranges);
    for (size_t axis = 0; axis < numbers.size(); ++axis) {
      if (numbers[axis] >= 0)
        place +=
            static_cast<size_t>(walk.position(axis) * strides[static_cast<size_t>(numbers[axis])]);
    }
  }
  return SlotElements(here, into)[place];
}

}  // namespace

uint64_t FoldOfNothing(Activation& here, const Instruction& fold, const PointWalk& walk) {
  uint64_t start = InitialValue(here, fold, walk);
  Lanes lanes;
  lanes.fill(fold.fold->identity);
  lanes[0] = start;
  return FoldLanes(fold.fold->fold, lanes);
}

/// Adds the term at the current point of the elementwise loop. After the last point along the reduced axes,
/// combines the lanes into the result.
void RunReduceInLoop(Core& core, Activation& here, const Instruction& instruction) {
  auto& state = std::get<PointState>(core.frames.back().control);
  const FoldPlan& plan = *instruction.fold;
  size_t folded = instruction.points->axes.size() - instruction.points->reduced;
  Lanes& lanes = state.folds[static_cast<size_t>(instruction.number)];
  if (state.walk.is_first_from(folded)) {
    lanes.fill(plan.identity);
    lanes[0] = InitialValue(here, instruction, state.walk);
  }
  size_t last = instruction.points->axes.size() - 1;
  uint64_t& lane = lanes[static_cast<size_t>(state.walk.position(last)) % kLanes];
  uint64_t term = here.scalar(instruction.operands[0]);
  if (plan.term) {
    uint64_t other = here.scalar(instruction.operands[1]);
    uint64_t operands[] = {plan.widen[0] ? plan.widen[0](&term, nullptr) : term,
                           plan.widen[1] ? plan.widen[1](&other, nullptr) : other, lane};
    lane = plan.term(operands, nullptr);
  } else {
    lane = Folded(plan.fold, lane, term);
  }
  if (!state.walk.is_last_from(folded)) return;
  here.scalar(instruction.results[0]) = FoldLanes(plan.fold, lanes);
}

void RunReduce(Core& core, Activation& here, const Instruction& instruction) {
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  if (!OperandsFit(core, here, instruction, ranges)) return;
  const FoldPlan& plan = *instruction.fold;
  FoldOperand value = MakeFoldOperand(here, instruction, 0, nullptr, ranges);
  PointWalk terms(ReducedSizes(instruction, ranges), {value.inner_strides});
  size_t last_axis = instruction.points->reduced - 1;
  FillResult(here, instruction, ranges, {value.outer_strides}, [&](const PointWalk& point) {
    const uint64_t* base = ElementsAt(value, point.offset(0));
    return FoldTerms(plan, terms, last_axis, plan.identity,
                     [&](uint64_t acc, const PointWalk& term) {
                       return Folded(plan.fold, acc, base[term.offset(0)]);
                     });
  });
}

void RunContraction(Core& core, Activation& here, const Instruction& instruction) {
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  if (!OperandsFit(core, here, instruction, ranges)) return;
  const FoldPlan& plan = *instruction.fold;
  FoldOperand a = MakeFoldOperand(here, instruction, 0, plan.widen[0], ranges);
  FoldOperand b = MakeFoldOperand(here, instruction, 1, plan.widen[1], ranges);
  FoldOperand into = MakeFoldOperand(here, instruction, 2, nullptr, ranges);
  PointWalk terms(ReducedSizes(instruction, ranges), {a.inner_strides, b.inner_strides});
  size_t last_axis = instruction.points->reduced - 1;
  std::vector<std::vector<int64_t>> strides = {a.outer_strides, b.outer_strides,
                                               into.outer_strides};
  FoldOperand plus;
  if (plan.plus >= 0) {
    plus = MakeFoldOperand(here, instruction, static_cast<size_t>(plan.plus), nullptr, ranges);
    strides.push_back(plus.outer_strides);
  }
  FillResult(here, instruction, ranges, strides, [&](const PointWalk& point) {
    const uint64_t* a_base = ElementsAt(a, point.offset(0));
    const uint64_t* b_base = ElementsAt(b, point.offset(1));
    uint64_t start = into.elements[point.offset(2)];
    if (plus.elements) start = Folded(plan.fold, start, plus.elements[point.offset(3)]);
    auto read = [&](const PointWalk& term, uint64_t& x, uint64_t& y) {
      x = a_base[term.offset(0)];
      y = b_base[term.offset(1)];
    };
    if (plan.mma) {
      return RunMatrixSteps(*plan.mma, terms, last_axis, ranges[ranges.size() - 1].size, start,
                            read);
    }
    return FoldTerms(plan, terms, last_axis, start, [&](uint64_t acc, const PointWalk& term) {
      uint64_t operands[3] = {0, 0, acc};
      read(term, operands[0], operands[1]);
      return plan.term(operands, nullptr);
    });
  });
}

}  // namespace kdl::interp
