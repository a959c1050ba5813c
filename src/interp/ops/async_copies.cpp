#include "interp/ops/async_copies.h"

#include "interp/elements.h"
#include "interp/ops/mbarrier_steps.h"
#include "ir/lookup.h"
#include "ir/views.h"

// Executes asynchronous copies between tensors and buffers of a workgroup.

namespace kdl::interp {

namespace {

using CopyOp = ir::AsyncCopyOp;

/// The elements of a copy, row by row, with their positions in the tensor and in the buffer.
class CopyWalk {
 public:
  CopyWalk(Activation& here, const Instruction& instruction, const TensorValue& tensor)
      : tensor_(tensor),
        extents_(instruction.numbers),
        along_(instruction.op->attr<ir::AttrKey::Along>()) {
    for (const DimPlan& dim : instruction.access->dims)
      index_.push_back(static_cast<int64_t>(ScalarIndex(here, dim)));
    place_ = Numbers(here, instruction, CopyOp::at_place);
    place_.resize(extents_.size());
    sizes_ = Numbers(here, instruction, CopyOp::at_sizes);
    if (sizes_.empty())
      sizes_.assign(extents_.end() - std::ssize(along_), extents_.end());  // the whole slot
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
  static std::vector<int64_t> Numbers(Activation& here, const Instruction& instruction,
                                      size_t segment) {
    std::vector<int64_t> numbers;
    size_t first = instruction.op->SegmentBegin(segment);
    for (size_t i = 0; i < instruction.op->Segment(segment).size(); ++i)
      numbers.push_back(static_cast<int64_t>(here.scalar(instruction.operands[first + i])));
    return numbers;
  }

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

/// Notes that the copy accesses an element. Returns false if this is an error, which stops the core.
bool NoteElement(Core& core, const Instruction& instruction, const TensorValue& tensor,
                 const AsyncCopy& copy, const AsyncCopy::Element& element) {
  auto on_tensor = [&](TouchKind kind) {
    return Notes(core, instruction, tensor, element.address, kind);
  };
  Workgroup& workgroup = *core.facts.workgroup;
  auto on_buffer = [&](TouchKind kind) {
    return workgroup.TouchBuffer(core, instruction, copy.buffer, element.offset, kind);
  };
  if (copy.in) return on_tensor(TouchKind::Read) && on_buffer(TouchKind::Write);
  return on_buffer(TouchKind::Read) &&
         IsDefined(core, instruction, workgroup.Memory(copy.buffer), element.offset) &&
         on_tensor(TouchKind::Write);
}

}  // namespace

void RunAsyncCopy(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  const ir::CopyEnds ends = ir::CopyEndsOf(&op);
  const TensorValue& tensor =
      here.tensor(instruction.operands[ends.in ? CopyOp::at_from : CopyOp::at_to]);
  if (!HasMemory(core, instruction, tensor)) return;
  bool fills_slot = op.Segment(CopyOp::at_sizes).empty();
  bool has_mbarrier = !op.Segment(CopyOp::at_mbarriers).empty();
  AsyncCopy copy{ends.buffer, ends.in, {}};
  CopyWalk(here, instruction, tensor).Each([&](const Place& place, int64_t offset) {
    AsyncCopy::Element element{offset, place.address};
    if (offset < 0) {
      core.Break(instruction, "copies more elements than fit into the buffer");
    } else if (has_mbarrier) {
      if (place.address) Notes(core, instruction, tensor, place.address, TouchKind::Read);
    } else if (!place.address && fills_slot) {
      core.facts.workgroup->TouchBuffer(core, instruction, copy.buffer, offset, TouchKind::Write);
    } else if (!place.address) {
      ReportOutside(core, instruction, tensor, place);
    } else {
      NoteElement(core, instruction, tensor, copy, element);
    }
    copy.elements.push_back(element);
    return core.state == MachineState::Running;
  });
  if (core.state != MachineState::Running) return;
  if (has_mbarrier) return BeginAtMbarrier(core, here, instruction, std::move(copy));
  core.facts.workgroup->BeginCopy(core.facts.thread, std::move(copy));
}

void RunAsyncCopyCommit(Core& core, Activation&, const Instruction&) {
  core.facts.workgroup->CommitCopies(core.facts.thread);
}

void RunAsyncCopyWait(Core& core, Activation& here, const Instruction& instruction) {
  ir::AsyncCopyWaitOp wait(const_cast<ir::Op*>(instruction.op));
  AwaitedCopies awaited;
  if (wait->HasAttr(ir::AttrKey::Ahead)) awaited.ahead = wait->attr<ir::AttrKey::Ahead>();
  if (wait.slot()) {
    size_t at = wait->SegmentBegin(ir::AsyncCopyWaitOp::at_slot);
    awaited.slot = static_cast<int64_t>(here.scalar(instruction.operands[at]));
  }
  Workgroup& workgroup = *core.facts.workgroup;
  for (bool in : {true, false}) {
    awaited.in = in;
    for (const ir::Value* buffer : in ? wait.buffers() : wait.sources()) {
      awaited.buffer = buffer;
      workgroup.EndCopies(core, instruction, awaited);
    }
  }
}

}  // namespace kdl::interp
