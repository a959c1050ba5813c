#include "interp/machine.h"

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>
#include <utility>

#include "interp/core.h"
#include "interp/ops/earliest_trap.h"
#include "ir/op_info.h"
#include "support/check.h"

namespace kdl::interp {

namespace {

AnyValue Read(const Activation& here, Slot slot) {
  AnyValue value;
  switch (slot.kind) {
    case SlotKind::Scalar:
      value.bits = here.scalars[slot.index];
      break;
    case SlotKind::Tile:
      value.tile = here.tiles[slot.index];
      break;
    case SlotKind::Block:
      value.block = here.blocks[slot.index];
      break;
    case SlotKind::Tensor:
      value.tensor = here.tensors[slot.index];
      break;
    case SlotKind::Event:
      value.event = here.events[slot.index];
      break;
    case SlotKind::Vector:
      value.lanes = here.vectors[slot.index];
      break;
    case SlotKind::Pipe:
      value.pipe = here.pipes[slot.index];
      break;
    case SlotKind::Workspace:
      value.workspace = here.workspaces[slot.index];
      break;
    case SlotKind::Buffer:
      KDL_UNREACHABLE("a buffer leaves its region");
  }
  return value;
}

void Write(Activation& here, Slot slot, AnyValue value) {
  switch (slot.kind) {
    case SlotKind::Scalar:
      here.scalars[slot.index] = value.bits;
      break;
    case SlotKind::Tile:
      here.tiles[slot.index] = std::move(value.tile);
      break;
    case SlotKind::Block:
      here.blocks[slot.index] = value.block;
      break;
    case SlotKind::Tensor:
      here.tensors[slot.index] = std::move(value.tensor);
      break;
    case SlotKind::Event:
      here.events[slot.index] = value.event;
      break;
    case SlotKind::Vector:
      here.vectors[slot.index] = std::move(value.lanes);
      break;
    case SlotKind::Pipe:
      here.pipes[slot.index] = std::move(value.pipe);
      break;
    case SlotKind::Workspace:
      here.workspaces[slot.index] = value.workspace;
      break;
    case SlotKind::Buffer:
      KDL_UNREACHABLE("a buffer enters a region");
  }
}

/// Moves a few scalars, such as those that inner loops carry, on a fast path. Returns false if the fast
/// path does not apply.
bool MoveFewScalars(Activation& from, const std::vector<Slot>& sources, size_t first_source,
                    Activation& to, const std::vector<Slot>& targets, size_t first_target) {
  std::array<uint64_t, 4> bits;
  size_t count = targets.size() - first_target;
  if (count > bits.size()) return false;
  for (size_t i = 0; i < count; ++i) {
    if (targets[first_target + i].kind != SlotKind::Scalar) return false;
    bits[i] = from.scalar(sources[first_source + i]);
  }
  for (size_t i = 0; i < count; ++i) to.scalar(targets[first_target + i]) = bits[i];
  return true;
}

}  // namespace

Activation::Activation(const Code& code_to_run) : code(&code_to_run) {
  auto count = [&](SlotKind kind) { return code->slot_counts[static_cast<size_t>(kind)]; };
  scalars.resize(count(SlotKind::Scalar));
  tiles.resize(count(SlotKind::Tile));
  blocks.resize(count(SlotKind::Block));
  tensors.resize(count(SlotKind::Tensor));
  buffers.resize(count(SlotKind::Buffer));
  vectors.resize(count(SlotKind::Vector));
  events.resize(count(SlotKind::Event));
  pipes.resize(count(SlotKind::Pipe));
  workspaces.resize(count(SlotKind::Workspace));
}

void Core::Break(const Instruction& instruction, const std::string& what) {
  fault = fmt::format("{}: '{}' of '{}' {}", ToString(instruction.op->loc()),
                      instruction.op->info().spelling, QuotedText(*instruction.op), what);
  state = MachineState::Broken;
}

void MoveValues(Activation& from, const std::vector<Slot>& sources, size_t first_source,
                Activation& to, const std::vector<Slot>& targets, size_t first_target) {
  size_t count = targets.size() - first_target;
  KDL_CHECK(sources.size() - first_source == count, "{} values for {} slots",
            sources.size() - first_source, count);
  if (MoveFewScalars(from, sources, first_source, to, targets, first_target)) return;
  std::vector<AnyValue> values;
  for (size_t i = 0; i < count; ++i) values.push_back(Read(from, sources[first_source + i]));
  for (size_t i = 0; i < count; ++i) Write(to, targets[first_target + i], std::move(values[i]));
}

std::vector<AxisRange> RangesOf(const PointsPlan& points, const Activation& here) {
  std::vector<AxisRange> ranges;
  for (uint32_t block : points.blocks)
    ranges.push_back({here.blocks[block].start, here.blocks[block].size});
  return ranges;
}

std::vector<int64_t> RangeSizes(const std::vector<AxisRange>& ranges) {
  std::vector<int64_t> sizes;
  for (const AxisRange& range : ranges) sizes.push_back(range.size);
  return sizes;
}

const uint64_t* SlotElements(const Activation& here, Slot slot) {
  if (slot.kind == SlotKind::Tile) return here.tiles[slot.index]->elements.data();
  if (slot.kind == SlotKind::Vector) return here.vectors[slot.index].data();
  return &here.scalars[slot.index];
}

std::vector<int64_t> OperandStrides(const PointsPlan& points, size_t operand,
                                    const std::vector<AxisRange>& ranges, const TileRef& tile) {
  std::vector<int64_t> strides(ranges.size(), 0);
  if (!tile) return strides;
  std::vector<int64_t> own = StridesOf(tile->ranges);
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    int number = points.axis_in_operand[operand][axis];
    if (number >= 0) strides[axis] = own[static_cast<size_t>(number)];
  }
  return strides;
}

bool OperandsFit(Core& core, Activation& here, const Instruction& instruction,
                 const std::vector<AxisRange>& ranges) {
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    if (instruction.operands[i].kind != SlotKind::Tile) continue;
    const TileRef& tile = here.tile(instruction.operands[i]);
    if (!tile) {
      core.Break(instruction, fmt::format("uses operand {}, which has no value yet", i));
      return false;
    }
    for (size_t axis = 0; axis < ranges.size(); ++axis) {
      int number = instruction.points->axis_in_operand[i][axis];
      if (number < 0 || tile->ranges[static_cast<size_t>(number)] == ranges[axis]) continue;
      const AxisRange& found = tile->ranges[static_cast<size_t>(number)];
      core.Break(
          instruction,
          fmt::format(
              "uses a tile computed for block {} + {} of axis {}, but that block is now {} + {}",
              found.start, found.size, instruction.points->axes[axis].value, ranges[axis].start,
              ranges[axis].size));
      return false;
    }
  }
  return true;
}

uint64_t UnspecifiedBits(Scalar scalar) {
  constexpr uint64_t kPattern = 0xA5A5'A5A5'A5A5'A5A5;
  return scalar == Scalar::Bool ? 1 : kPattern >> (64 - 8 * Bytes(scalar));
}

Machine::Machine(const Image& image, const CoreFacts& facts)
    : core_(std::make_unique<Core>(*image.entry, facts)) {
  core_->frames.push_back({&core_->body, image.entry->blocks.data(), 0, nullptr, {}});
}
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

void Machine::BindScalar(size_t param, uint64_t bits) {
  core_->body.scalar(core_->body.code->blocks[0].params[param]) = bits;
}

void Machine::BindTensor(size_t param, TensorValue tensor) {
  core_->body.tensor(core_->body.code->blocks[0].params[param]) = std::move(tensor);
}

void Machine::BindWorkspace(size_t param, int64_t bytes) {
  core_->workspace.assign(static_cast<size_t>(bytes), std::byte{0xA5});
  core_->body.workspaces[core_->body.code->blocks[0].params[param].index].data =
      core_->workspace.data();
}

MachineState Machine::state() const { return core_->state; }

void Core::Stop(Trap why) {
  if (why.op && !why.place) NoteCalls(why.op->loc(), why);
  for (const Frame& frame : std::views::reverse(frames)) {
    bool is_call = frame.owner && frame.owner->op->kind() == ir::OpKind::Call;
    if (is_call) NoteCall(frame.owner->op->loc(), why);
  }
  trap = std::move(why);
  state = MachineState::Trapped;
}

void Core::Resume() {
  bool waits = state == MachineState::AtBarrier || state == MachineState::AtWorkgroupBarrier ||
               state == MachineState::AtMbarrier;
  if (waits) state = MachineState::Running;
}

void Core::ExecuteNextOp() {
  if (earliest && SkipsElement(*this)) return;
  Frame& frame = frames.back();
  if (frame.next == frame.block->instructions.size()) {
    KDL_CHECK(frames.size() == 1, "a region without a terminator in {}",
              frame.here->code->function->name.text());
    state = MachineState::Done;
    return;
  }
  const Instruction& instruction = frame.block->instructions[frame.next++];
  instruction.run(*this, *frame.here, instruction);
  if (state == MachineState::Trapped) return SeekEarlierTrap(*this);
  if (blocked || frames.empty()) {
    SwitchStage();
  } else {
    rounds_without_step = 0;
  }
}

MachineState Machine::RunSteps(int64_t steps) {
  Core& core = *core_;
  core.Resume();
  for (; steps > 0 && core.state == MachineState::Running; --steps) core.ExecuteNextOp();
  return core.state;
}

MachineState Machine::RunToEnd() { return RunSteps(std::numeric_limits<int64_t>::max()); }

const Trap& Machine::trap() const { return *core_->trap; }
const Failure& Machine::failure() const { return *core_->failure; }
const std::string& Machine::fault() const { return core_->fault; }

const std::vector<uint64_t>& Machine::results() const { return core_->results; }

const ir::Op* Machine::RunningWhile() const {
  for (auto frame = core_->frames.rbegin(); frame != core_->frames.rend(); ++frame) {
    if (frame->owner && frame->owner->op->kind() == ir::OpKind::While) return frame->owner->op;
  }
  return nullptr;
}

const ir::Op* Machine::OutermostLoop() const {
  for (const Frame& frame : core_->frames) {
    if (!frame.owner) continue;
    ir::OpKind kind = frame.owner->op->kind();
    if (kind == ir::OpKind::Loop || kind == ir::OpKind::While) return frame.owner->op;
  }
  return nullptr;
}

void Machine::Restart() {
  core_->frames.clear();
  core_->frames.push_back({&core_->body, core_->body.code->blocks.data(), 0, nullptr, {}});
  core_->trap.reset();
  core_->earliest.reset();
  core_->state = MachineState::Running;
}

void Machine::RecordReads(std::vector<ElementRead>* reads) { core_->reads = reads; }

}  // namespace kdl::interp
