#include "interp/ops/checkpoints.h"

#include "interp/ops/program.h"
#include "ir/tensor_view.h"
#include "ir/views.h"

// Executes the ops of checkpoints.

namespace kdl::interp {

namespace {

using ir::AttrKey;
using ir::Op;

/// Returns the request of an op with these segments.
CheckpointRequest RequestOf(Activation& here, const Instruction& instruction, size_t numbers,
                            size_t tensors, size_t after) {
  const Op& op = *instruction.op;
  CheckpointRequest request;
  request.path = op.attr<AttrKey::Text>();
  size_t first_number = op.SegmentBegin(numbers);
  for (size_t i = 0; i < op.Segment(numbers).size(); ++i) {
    const ir::Value* number = op.Segment(numbers)[i];
    request.numbers.push_back({number->name(), number->type()->scalar,
                               here.scalar(instruction.operands[first_number + i])});
  }
  size_t first_tensor = op.SegmentBegin(tensors);
  for (size_t i = 0; i < op.Segment(tensors).size(); ++i) {
    request.tensors.emplace_back(ir::MemoryOf(op.Segment(tensors)[i])->name(),
                                 here.tensor(instruction.operands[first_tensor + i]).id);
  }
  request.after = EventsOf(here, instruction, after);
  return request;
}

}  // namespace

void RunRestore(Core& core, Activation& here, const Instruction& instruction) {
  CheckpointRequest request = RequestOf(here, instruction, ir::RestoreOp::at_numbers,
                                        ir::RestoreOp::at_tensors, ir::RestoreOp::at_after);
  for (size_t i = 0; i < request.numbers.size(); ++i)
    request.numbers[i].name = instruction.op->result(i)->name();
  Status restored = core.facts.host->Restore(request);
  if (!restored.ok()) return core.Fail(Located(instruction, restored.failure()));
  for (size_t i = 0; i < request.numbers.size(); ++i)
    here.scalar(instruction.results[i]) = request.numbers[i].bits;
}

void RunCheckpoint(Core& core, Activation& here, const Instruction& instruction) {
  CheckpointRequest request = RequestOf(here, instruction, ir::CheckpointOp::at_numbers,
                                        ir::CheckpointOp::at_tensors, ir::CheckpointOp::at_after);
  size_t every = instruction.op->SegmentBegin(ir::CheckpointOp::at_every);
  request.every = static_cast<int64_t>(here.scalar(instruction.operands[every]));
  Status written = core.facts.host->Checkpoint(request);
  if (!written.ok()) core.Fail(Located(instruction, written.failure()));
}

}  // namespace kdl::interp
