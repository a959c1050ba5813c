#include "interp/elements.h"
#include "interp/handlers.h"
#include "ir/type.h"
#include "ir/views.h"

// Loads and stores of vectors: the lanes one by one, each checked like an element of its own. A lane
// that is masked off is not even located.

namespace kdl::interp {

namespace {

/// Which lanes an access touches.
struct Mask {
  const uint64_t* flags = nullptr;  ///< null: all

  bool operator[](size_t lane) const { return !flags || flags[lane] != 0; }
};

/// The mask behind the op's operand group `segment`, or all lanes.
Mask MaskOf(const Activation& here, const Instruction& instruction, size_t segment) {
  if (instruction.op->Segment(segment).empty()) return {};
  return {ElementsOf(here, instruction.operands[instruction.op->SegmentBegin(segment)])};
}

/// An access to a tensor: where its lanes are.
class LanePlaces {
 public:
  LanePlaces(Activation& here, const Instruction& instruction, const TensorValue& tensor)
      : tensor_(tensor) {
    for (const DimPlan& dim : instruction.access->dims)
      first_.push_back(ScalarIndex(here, instruction, dim));
  }

  Place At(size_t lane) const {
    uint64_t offset = 0;
    for (size_t d = 0; d < first_.size(); ++d) {
      uint64_t index = first_[d] + (d + 1 == first_.size() ? lane : 0);
      if (index >= static_cast<uint64_t>(tensor_.sizes[d]))
        return {nullptr, static_cast<int>(d), static_cast<int64_t>(index)};
      offset += index * static_cast<uint64_t>(tensor_.strides[d]);
    }
    return {tensor_.data + offset * static_cast<uint64_t>(Bytes(tensor_.scalar)), -1, 0};
  }

 private:
  const TensorValue& tensor_;
  std::vector<uint64_t> first_;  ///< lane 0's index of each dimension
};

}  // namespace

void RunVectorLoad(Core& core, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[ir::LoadOp::at_tensor]);
  if (!HasMemory(core, instruction, tensor)) return;
  Mask mask = MaskOf(here, instruction, ir::LoadOp::at_mask);
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

void RunVectorStore(Core& core, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[ir::StoreOp::at_tensor]);
  if (!HasMemory(core, instruction, tensor)) return;
  Mask mask = MaskOf(here, instruction, ir::StoreOp::at_mask);
  LanePlaces places(here, instruction, tensor);
  const std::vector<uint64_t>& value = here.vector(instruction.operands[ir::StoreOp::at_value]);
  for (size_t lane = 0; lane < value.size(); ++lane) {
    if (!mask[lane]) continue;
    Place place = places.At(lane);
    if (!place.address) return ReportOutside(core, instruction, tensor, place);
    WriteElement(place.address, tensor.scalar, value[lane]);
  }
}

void RunVectorBufferLoad(Core& core, Activation& here, const Instruction& instruction) {
  const Buffer& buffer = here.buffers[instruction.operands[ir::BufferLoadOp::at_buffer].index];
  Mask mask = MaskOf(here, instruction, ir::BufferLoadOp::at_mask);
  ir::Type type = instruction.op->result()->type();
  std::vector<uint64_t>& result = here.vector(instruction.results[0]);
  result.assign(static_cast<size_t>(ir::Lanes(type)), UnspecifiedBits(type->scalar));
  for (size_t lane = 0; lane < result.size(); ++lane) {
    if (!mask[lane]) continue;
    int64_t offset = BufferOffset(core, here, instruction, 1, static_cast<int64_t>(lane));
    if (offset < 0 || !IsDefined(core, instruction, buffer, offset)) return;
    result[lane] = buffer.elements[static_cast<size_t>(offset)];
  }
}

void RunVectorBufferStore(Core& core, Activation& here, const Instruction& instruction) {
  Buffer& buffer = here.buffers[instruction.operands[ir::BufferStoreOp::at_buffer].index];
  Mask mask = MaskOf(here, instruction, ir::BufferStoreOp::at_mask);
  const std::vector<uint64_t>& value =
      here.vector(instruction.operands[ir::BufferStoreOp::at_value]);
  for (size_t lane = 0; lane < value.size(); ++lane) {
    if (!mask[lane]) continue;
    int64_t offset = BufferOffset(core, here, instruction, 2, static_cast<int64_t>(lane));
    if (offset < 0) return;
    Define(buffer, offset, value[lane]);
  }
}

}  // namespace kdl::interp
