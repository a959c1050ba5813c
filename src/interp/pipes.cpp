#include "interp/pipes.h"

#include <algorithm>
#include <utility>

#include "interp/run.h"
#include "ir/views.h"
#include "support/check.h"

namespace kdl::interp {

namespace {

constexpr size_t kMostSizes = 8;
constexpr std::byte kPoison{0xA5};

}  // namespace

PipeState::PipeState(Name name, Scalar scalar, std::vector<int64_t> extents, ir::Ring ring,
                     std::byte* memory)
    : name_(name), scalar_(scalar), extents_(std::move(extents)), ring_(ring), memory_(memory) {
  if (!memory_) {
    own_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(ring_.bytes()));
    memory_ = own_.get();
  }
  SetCounter(ir::kRingPushed, 0);
  SetCounter(ir::kRingPopped, 0);
}

int64_t PipeState::Counter(int64_t at) const {
  return static_cast<int64_t>(ReadElement(memory_ + at, Scalar::I64));
}

void PipeState::SetCounter(int64_t at, int64_t value) {
  WriteElement(memory_ + at, Scalar::I64, static_cast<uint64_t>(value));
}

TensorValue PipeState::Free() const {
  std::fill_n(Slot(Pushed()), ring_.slot, kPoison);
  return SlotAt(Pushed());
}

TensorValue PipeState::SlotAt(int64_t number) const {
  return {Slot(number) + ir::kSlotSizesBytes, scalar_, extents_, RowMajorStrides(extents_),
          TensorId()};
}

std::vector<int64_t> PipeState::FirstSizes() const {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < extents_.size(); ++i) {
    sizes.push_back(
        static_cast<int64_t>(ReadElement(Slot(Popped()) + i * sizeof(int64_t), Scalar::I64)));
  }
  return sizes;
}

void PipeState::Commit(std::span<const int64_t> sizes) {
  KDL_CHECK(sizes.size() <= kMostSizes, "a pipe has {} dimensions, which is too many",
            sizes.size());
  std::byte* slot = Slot(Pushed());
  for (size_t i = 0; i < sizes.size(); ++i)
    WriteElement(slot + i * sizeof(int64_t), Scalar::I64, static_cast<uint64_t>(sizes[i]));
  SetCounter(ir::kRingPushed, Pushed() + 1);
}

void PipeState::Release() { SetCounter(ir::kRingPopped, Popped() + 1); }

namespace {

using ir::AttrKey;

PipeState& PipeAt(Activation& here, const Instruction& instruction, size_t operand) {
  return *here.pipes[instruction.operands[operand].index];
}

/// Returns the slot's strides along each axis of the op's points.
std::vector<int64_t> SlotStrides(const Instruction& instruction, const TensorValue& slot) {
  auto positions = instruction.op->attr<AttrKey::Axes>();
  std::vector<int64_t> strides;
  for (ir::AxisId axis : instruction.points->axes) {
    auto at = std::find(positions.begin(), positions.end(), axis) - positions.begin();
    strides.push_back(slot.strides[static_cast<size_t>(at)]);
  }
  return strides;
}

/// Returns the sizes of the blocks that correspond to the pipe's dimensions, in the order of
/// these dimensions.
std::vector<int64_t> PositionSizes(const Instruction& instruction,
                                   const std::vector<AxisRange>& ranges) {
  std::vector<int64_t> sizes;
  for (ir::AxisId axis : instruction.op->attr<AttrKey::Axes>()) {
    const auto& axes = instruction.points->axes;
    sizes.push_back(
        ranges[static_cast<size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin())].size);
  }
  return sizes;
}

bool Same(Core& core, const Instruction& instruction, int64_t pushed, int64_t popped,
          int32_t dimension) {
  if (pushed == popped) return true;
  core.Stop({KDL_TRAP_TILE_SIZE, instruction.op, dimension, pushed, popped});
  return false;
}

}  // namespace

void RunPipe(Core&, Activation& here, const Instruction& instruction) {
  const ir::Op* op = instruction.op;
  bool has_ring = op->HasAttr(AttrKey::Slot);
  ir::Ring ring{0, ir::kRingHeaderBytes, instruction.number, op->attr<AttrKey::Depth>()};
  if (has_ring) ring = ir::RingOf(op);
  std::byte* memory = nullptr;
  if (!instruction.operands.empty())
    memory = here.workspaces[instruction.operands[0].index].data + ring.offset;
  here.pipes[instruction.results[0].index] = std::make_shared<PipeState>(
      op->attr<AttrKey::Name>(), op->result()->type()->scalar, instruction.numbers, ring, memory);
}

void RunPush(Core& core, Activation& here, const Instruction& instruction) {
  PipeState& pipe = PipeAt(here, instruction, ir::PushOp::at_pipe);
  if (pipe.full()) return core.Block();
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  if (!OperandsFit(core, here, instruction, ranges)) return;
  TensorValue slot = pipe.Free();
  Slot value = instruction.operands[0];
  std::vector<std::vector<int64_t>> strides = {
      OperandStrides(*instruction.points, 0, ranges,
                     value.kind == SlotKind::Tile ? here.tile(value) : nullptr),
      SlotStrides(instruction, slot)};
  const uint64_t* elements = SlotElements(here, value);
  for (PointWalk walk(RangeSizes(ranges), strides); !walk.done(); walk.Next()) {
    WriteElement(slot.data + walk.offset(1) * Bytes(slot.scalar), slot.scalar,
                 elements[walk.offset(0)]);
  }
  pipe.Commit(PositionSizes(instruction, ranges));
}

void RunPop(Core& core, Activation& here, const Instruction& instruction) {
  PipeState& pipe = PipeAt(here, instruction, ir::PopOp::at_pipe);
  if (pipe.empty()) return core.Block();
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  std::vector<int64_t> pushed = pipe.FirstSizes();
  std::vector<int64_t> popped = PositionSizes(instruction, ranges);
  for (size_t i = 0; i < pushed.size(); ++i) {
    if (!Same(core, instruction, pushed[i], popped[i], static_cast<int32_t>(i))) return;
  }
  TensorValue slot = pipe.First();
  auto tile = MakeTile(ranges);
  uint64_t* out = tile->elements.data();
  for (PointWalk walk(RangeSizes(ranges), {SlotStrides(instruction, slot)}); !walk.done();
       walk.Next())
    *out++ = ReadElement(slot.data + walk.offset(0) * Bytes(slot.scalar), slot.scalar);
  Slot result = instruction.results[0];
  if (result.kind == SlotKind::Scalar) {
    here.scalar(result) = tile->elements[0];
  } else {
    here.tile(result) = std::move(tile);
  }
  pipe.Release();
}

void RunAcquire(Core& core, Activation& here, const Instruction& instruction) {
  PipeState& pipe = PipeAt(here, instruction, ir::AcquireOp::at_pipe);
  if (pipe.full()) return core.Block();
  here.tensor(instruction.results[0]) = pipe.Free();
}

void RunCommit(Core&, Activation& here, const Instruction& instruction) {
  std::vector<int64_t> sizes;
  for (size_t i = ir::CommitOp::at_sizes; i < instruction.operands.size(); ++i)
    sizes.push_back(static_cast<int64_t>(here.scalar(instruction.operands[i])));
  PipeAt(here, instruction, ir::CommitOp::at_pipe).Commit(sizes);
}

void RunWait(Core& core, Activation& here, const Instruction& instruction) {
  PipeState& pipe = PipeAt(here, instruction, ir::WaitOp::at_pipe);
  if (pipe.empty()) return core.Block();
  here.tensor(instruction.results[0]) = pipe.First();
  std::vector<int64_t> sizes = pipe.FirstSizes();
  for (size_t i = 0; i < sizes.size(); ++i)
    here.scalar(instruction.results[i + 1]) = static_cast<uint64_t>(sizes[i]);
}

void RunRelease(Core&, Activation& here, const Instruction& instruction) {
  PipeAt(here, instruction, ir::ReleaseOp::at_pipe).Release();
}

void RunMatch(Core& core, Activation& here, const Instruction& instruction) {
  auto a = static_cast<int64_t>(here.scalar(instruction.operands[0]));
  auto b = static_cast<int64_t>(here.scalar(instruction.operands[1]));
  Same(core, instruction, a, b, -1);
}

}  // namespace kdl::interp
