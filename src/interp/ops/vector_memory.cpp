#include "interp/ops/vector_memory.h"

#include "interp/elements.h"
#include "ir/type.h"
#include "ir/views.h"

// Executes loads and stores of vectors. Each lane is checked like a separate element. For a lane that is
// masked off, not even the address is computed.

namespace kdl::interp {

namespace {

/// The lanes that an access reads or writes.
struct Mask {
  const uint64_t* flags = nullptr;  ///< if null, all lanes are accessed

  bool operator[](size_t lane) const { return !flags || flags[lane] != 0; }
};

/// Returns the mask in the op's operand group `segment`, or all lanes.
Mask LaneMaskOf(const Activation& here, const Instruction& instruction, size_t segment) {
  if (instruction.op->Segment(segment).empty()) return {};
  return {SlotElements(here, instruction.operands[instruction.op->SegmentBegin(segment)])};
}

uint64_t ElementNumber(const TensorValue& tensor, const Place& place) {
  return static_cast<uint64_t>(place.address - tensor.data) /
         static_cast<uint64_t>(Bytes(tensor.scalar));
}

}  // namespace

void RunVectorLoad(Core& core, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[ir::LoadOp::at_tensor]);
  if (!HasMemory(core, instruction, tensor)) return;
  Mask mask = LaneMaskOf(here, instruction, ir::LoadOp::at_mask);
  LanePlaces places(here, instruction, tensor);
  std::vector<uint64_t>& result = here.vector(instruction.results[0]);
  result.assign(static_cast<size_t>(ir::Lanes(instruction.op->result()->type())),
                UnspecifiedBits(tensor.scalar));
  for (size_t lane = 0; lane < result.size(); ++lane) {
    if (!mask[lane]) continue;
    Place place = places.At(lane);
    if (!place.address) return ReportOutside(core, instruction, tensor, place);
    result[lane] = ReadElement(place.address, tensor.scalar);
  }
}

/// Treats tensors as aligned, so that results depend only on the position of the element and not on
/// the machine.
void RunAlignGap(Core&, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[ir::AlignGapOp::at_tensor]);
  uint64_t number = 0;
  for (size_t d = 0; d < instruction.access->dims.size(); ++d) {
    number +=
        ScalarIndex(here, instruction.access->dims[d]) * static_cast<uint64_t>(tensor.strides[d]);
  }
  auto lanes = static_cast<uint64_t>(instruction.op->attr<ir::AttrKey::Lanes>());
  here.scalar(instruction.results[0]) = (0 - number) % lanes;
}

void RunVectorStore(Core& core, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[ir::StoreOp::at_tensor]);
  if (!HasMemory(core, instruction, tensor)) return;
  Mask mask = LaneMaskOf(here, instruction, ir::StoreOp::at_mask);
  LanePlaces places(here, instruction, tensor);
  const std::vector<uint64_t>& value = here.vector(instruction.operands[ir::StoreOp::at_value]);
  bool past_caches = instruction.op->HasAttr(ir::AttrKey::Cache);
  for (size_t lane = 0; lane < value.size(); ++lane) {
    if (!mask[lane]) continue;
    Place place = places.At(lane);
    if (!place.address) return ReportOutside(core, instruction, tensor, place);
    if (lane == 0 && past_caches && ElementNumber(tensor, place) % value.size() != 0)
      return core.Break(instruction, "bypasses the caches with a vector that is not aligned");
    WriteElement(place.address, tensor.scalar, value[lane]);
  }
}

void RunVectorBufferLoad(Core& core, Activation& here, const Instruction& instruction) {
  const Buffer& buffer = BufferAt(core, here, instruction, ir::BufferLoadOp::at_buffer);
  Mask mask = LaneMaskOf(here, instruction, ir::BufferLoadOp::at_mask);
  ir::Type type = instruction.op->result()->type();
  std::vector<uint64_t>& result = here.vector(instruction.results[0]);
  result.assign(static_cast<size_t>(ir::Lanes(type)), UnspecifiedBits(type->scalar));
  for (size_t lane = 0; lane < result.size(); ++lane) {
    if (!mask[lane]) continue;
    int64_t offset = BufferOffset(core, here, instruction, 1, static_cast<int64_t>(lane));
    if (offset < 0 || !Notes(core, instruction, 0, offset, TouchKind::Read)) return;
    if (!IsDefined(core, instruction, buffer, offset)) return;
    result[lane] = buffer.elements[static_cast<size_t>(offset)];
  }
}

void RunVectorBufferStore(Core& core, Activation& here, const Instruction& instruction) {
  Buffer& buffer = BufferAt(core, here, instruction, ir::BufferStoreOp::at_buffer);
  Mask mask = LaneMaskOf(here, instruction, ir::BufferStoreOp::at_mask);
  const std::vector<uint64_t>& value =
      here.vector(instruction.operands[ir::BufferStoreOp::at_value]);
  for (size_t lane = 0; lane < value.size(); ++lane) {
    if (!mask[lane]) continue;
    int64_t offset = BufferOffset(core, here, instruction, 2, static_cast<int64_t>(lane));
    if (offset < 0 || !Notes(core, instruction, 1, offset, TouchKind::Write)) return;
    buffer.Define(offset, value[lane]);
  }
}

}  // namespace kdl::interp
