#include "interp/ops/copies_ahead.h"

#include <algorithm>

#include "interp/elements.h"
#include "ir/views.h"

// Executes copies that a GPU thread starts and later waits for. In between, the elements that a copy will
// write count as unwritten.

namespace kdl::interp {

void RunAsyncCopy(Core& core, Activation& here, const Instruction& instruction) {
  using CopyOp = ir::AsyncCopyOp;
  const TensorValue& tensor = here.tensor(instruction.operands[CopyOp::at_tensor]);
  if (!HasMemory(core, instruction, tensor)) return;
  Buffer& buffer = BufferAt(core, here, instruction, CopyOp::at_buffer);
  size_t first_place = instruction.op->SegmentBegin(CopyOp::at_place);
  auto lanes = instruction.op->attr<ir::AttrKey::Lanes>();
  LanePlaces places(here, instruction, tensor);
  AsyncCopy copy{instruction.op->operand(CopyOp::at_buffer), 0, {}, core.copy_groups};
  copy.offset = BufferOffset(core, here, instruction, first_place, 0);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t offset = BufferOffset(core, here, instruction, first_place, lane);
    if (offset < 0 || !Notes(core, instruction, CopyOp::at_buffer, offset, TouchKind::Write))
      return;
    Place place = places.At(static_cast<size_t>(lane));
    if (!place.address) return ReportOutside(core, instruction, tensor, place);
    if (!Notes(core, instruction, tensor, place.address, TouchKind::Read)) return;
    copy.elements.push_back(ReadElement(place.address, tensor.scalar));
    buffer.defined[static_cast<size_t>(offset)] = false;
  }
  core.copies.push_back(std::move(copy));
}

void RunAsyncCopyCommit(Core& core, Activation&, const Instruction&) { ++core.copy_groups; }

void RunAsyncCopyWait(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op* op = instruction.op;
  int64_t end = op->HasAttr(ir::AttrKey::Ahead) ? core.copy_groups - op->attr<ir::AttrKey::Ahead>()
                                                : core.copy_groups + 1;
  for (size_t operand = 0; operand < instruction.operands.size(); ++operand) {
    auto ends = [&, awaited = op->operand(operand)](const AsyncCopy& copy) {
      return copy.buffer == awaited && copy.group < end;
    };
    Buffer& buffer = BufferAt(core, here, instruction, operand);
    for (const AsyncCopy& copy : core.copies) {
      if (!ends(copy)) continue;
      for (size_t i = 0; i < copy.elements.size(); ++i) {
        int64_t offset = copy.offset + static_cast<int64_t>(i);
        if (!Notes(core, instruction, operand, offset, TouchKind::Write)) return;
        buffer.Define(offset, copy.elements[i]);
      }
    }
    std::erase_if(core.copies, ends);
  }
}

}  // namespace kdl::interp
