#include "interp/ops/sliding_window.h"

#include "ir/views.h"

// Executes sliding windows. Every element is checked here. If one is out of bounds, the pass that created the
// window has a bug.

namespace kdl::interp {

namespace {

/// The index along one axis of the window, relative to the start of the axis's block, and the strides of
/// this index along the result's axes.
struct Line {
  int64_t base;
  std::vector<int64_t> strides;
};

Line LineOf(Activation& here, const Instruction& instruction, size_t dim, size_t axes) {
  const DimPlan& plan = instruction.access->dims[dim];
  Line line{plan.offset - here.blocks[instruction.taken[dim]].start, std::vector<int64_t>(axes)};
  for (const TermPlan& term : plan.terms) {
    line.base += term.coefficient * here.block(instruction.operands[term.operand]).start;
    line.strides[static_cast<size_t>(term.point_axis)] += term.coefficient;
  }
  return line;
}

/// Returns the window's strides along those axes of the result that the window also has.
std::vector<int64_t> KeptStrides(const Instruction& instruction, const std::vector<int64_t>& all,
                                 const ir::AxisList& over) {
  const std::vector<ir::AxisId>& own = instruction.op->operand(0)->type()->axes;
  std::vector<int64_t> kept;
  for (ir::AxisId axis : instruction.points->axes) {
    auto found = std::find(own.begin(), own.end(), axis);
    bool is_kept = found != own.end() && std::find(over.begin(), over.end(), axis) == over.end();
    kept.push_back(is_kept ? all[static_cast<size_t>(found - own.begin())] : 0);
  }
  return kept;
}

}  // namespace

void RunSlidingWindow(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  TileRef window = here.tile(instruction.operands[0]);
  if (!window) return core.Break(instruction, "reads a sliding window that has no value yet");
  const ir::AxisList over = op.attr<ir::AttrKey::Axes>();
  const std::vector<ir::AxisId>& own = op.operand(0)->type()->axes;
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  std::vector<int64_t> all = StridesOf(window->ranges);
  std::vector<std::vector<int64_t>> streams = {KeptStrides(instruction, all, over)};
  std::vector<int64_t> bases;
  std::vector<int64_t> strides;
  for (size_t d = 0; d < over.size(); ++d) {
    Line line = LineOf(here, instruction, d, ranges.size());
    auto axis = std::find(own.begin(), own.end(), over[d]) - own.begin();
    strides.push_back(all[static_cast<size_t>(axis)]);
    bases.push_back(line.base);
    streams.push_back(std::move(line.strides));
  }
  auto result = MakeTile(ranges);
  uint64_t* out = result->elements.data();
  for (PointWalk walk(RangeSizes(ranges), streams); !walk.done(); walk.Next(), ++out) {
    int64_t place = walk.offset(0);
    for (size_t d = 0; d < over.size(); ++d) {
      int64_t index = bases[d] + walk.offset(d + 1);
      if (index < 0 || index >= here.blocks[instruction.taken[d]].size)
        return core.Break(instruction, "reads outside its sliding window");
      place += index * strides[d];
    }
    *out = window->elements[static_cast<size_t>(place)];
  }
  Slot target = instruction.results[0];
  if (target.kind == SlotKind::Scalar) {
    here.scalar(target) = result->elements[0];
  } else {
    here.tile(target) = std::move(result);
  }
}

}  // namespace kdl::interp
