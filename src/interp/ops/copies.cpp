#include "interp/ops/copies.h"

#include "interp/elements.h"
#include "ir/views.h"

// Executes block copies. The elements of a copy into a buffer are written only when the copy is awaited.

namespace kdl::interp {

namespace {

/// The elements of a copy, row by row, with their positions in the tensor and in the buffer.
class CopyWalk {
 public:
  CopyWalk(Activation& here, const Instruction& instruction, const TensorValue& tensor,
           size_t first_place, size_t first_size)
      : tensor_(tensor),
        extents_(instruction.numbers),
        along_(instruction.op->attr<ir::AttrKey::Along>()) {
    for (const DimPlan& dim : instruction.access->dims)
      index_.push_back(static_cast<int64_t>(ScalarIndex(here, dim)));
    auto scalar = [&](size_t operand) {
      return static_cast<int64_t>(here.scalar(instruction.operands[operand]));
    };
    for (size_t d = 0; d < extents_.size(); ++d) place_.push_back(scalar(first_place + d));
    for (size_t d = 0; d < along_.size(); ++d) sizes_.push_back(scalar(first_size + d));
  }

  /// Calls `visit(place, offset)` for each element, until it returns false. `place` is the position in the
  /// tensor, `offset` is the offset in the buffer, or -1 if the element is outside the buffer.
  template <class Visit>
  void Each(const Visit& visit) const {
    bool has_rows = sizes_.size() == 2;
    for (int64_t row = 0; row < (has_rows ? sizes_[0] : 1); ++row) {
      for (int64_t column = 0; column < sizes_.back(); ++column) {
        if (!visit(InTensor(row, column), InBuffer(row, column))) return;
      }
    }
  }

 private:
  int64_t PositionAlong(size_t dimension, size_t rank, int64_t row, int64_t column) const {
    if (dimension + 1 == rank) return column;
    return dimension + 2 == rank && sizes_.size() == 2 ? row : 0;
  }

  Place InTensor(int64_t row, int64_t column) const {
    std::vector<int64_t> index = index_;
    for (size_t d = 0; d < along_.size(); ++d)
      index[static_cast<size_t>(along_[d])] += PositionAlong(d, along_.size(), row, column);
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      if (index[d] < 0 || index[d] >= tensor_.sizes[d])
        return {nullptr, static_cast<int>(d), index[d]};
      offset += index[d] * tensor_.strides[d];
    }
    return {tensor_.data + offset * Bytes(tensor_.scalar), -1, 0};
  }

  int64_t InBuffer(int64_t row, int64_t column) const {
    int64_t offset = 0;
    for (size_t d = 0; d < extents_.size(); ++d) {
      int64_t index = place_[d] + PositionAlong(d, extents_.size(), row, column);
      if (index < 0 || index >= extents_[d]) return -1;
      offset = offset * extents_[d] + index;
    }
    return offset;
  }

  const TensorValue& tensor_;
  const std::vector<int64_t>& extents_;
  ir::NumberList along_;
  std::vector<int64_t> index_;
  std::vector<int64_t> place_;
  std::vector<int64_t> sizes_;
};

/// Calls `element(address, offset in the buffer)` for all elements of a copy.
template <class Element>
void CopyPart(Core& core, Activation& here, const Instruction& instruction, size_t tensor_operand,
              size_t first_place, size_t first_size, const Element& element) {
  const TensorValue& tensor = here.tensor(instruction.operands[tensor_operand]);
  if (!HasMemory(core, instruction, tensor)) return;
  CopyWalk walk(here, instruction, tensor, first_place, first_size);
  walk.Each([&](const Place& place, int64_t offset) {
    if (!place.address) {
      ReportOutside(core, instruction, tensor, place);
    } else if (offset < 0) {
      core.Break(instruction, "copies more elements than fit into the buffer");
    } else {
      element(tensor, place.address, offset);
    }
    return core.state == MachineState::Running;
  });
}

}  // namespace

void RunCopyIn(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  const ir::Value* buffer = op.Segment(ir::CopyInOp::at_buffer)[0];
  CopyPart(core, here, instruction, op.SegmentBegin(ir::CopyInOp::at_tensor),
           op.SegmentBegin(ir::CopyInOp::at_place), op.SegmentBegin(ir::CopyInOp::at_sizes),
           [&](const TensorValue& tensor, std::byte* address, int64_t offset) {
             if (Notes(core, instruction, tensor, address, TouchKind::Read))
               core.facts.workgroup->BeginCopy(core, instruction, buffer, offset, address);
           });
}

void RunCopyOut(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  const Buffer& buffer = BufferAt(core, here, instruction, ir::CopyOutOp::at_buffer);
  CopyPart(core, here, instruction, op.SegmentBegin(ir::CopyOutOp::at_tensor),
           op.SegmentBegin(ir::CopyOutOp::at_place), op.SegmentBegin(ir::CopyOutOp::at_sizes),
           [&](const TensorValue& tensor, std::byte* address, int64_t offset) {
             bool reads = Notes(core, instruction, 0, offset, TouchKind::Read) &&
                          IsDefined(core, instruction, buffer, offset);
             if (reads && Notes(core, instruction, tensor, address, TouchKind::Write))
               WriteElement(address, tensor.scalar, buffer.elements[static_cast<size_t>(offset)]);
           });
}

void RunAwaitCopies(Core& core, Activation& here, const Instruction& instruction) {
  int64_t elements = 1;
  for (int64_t extent : instruction.numbers) elements *= extent;
  int64_t first = 0;
  if (instruction.operands.size() > 1) {
    elements /= instruction.numbers[0];
    first = elements * static_cast<int64_t>(here.scalar(instruction.operands[1]));
  }
  core.facts.workgroup->AwaitCopies(core, instruction, instruction.op->operand(0), first,
                                    first + elements);
}

}  // namespace kdl::interp
