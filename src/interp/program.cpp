#include "interp/handlers.h"
#include "ir/views.h"
#include "support/check.h"

// What programs ask of their host.

namespace kdl::interp {

namespace {

using ir::AttrKey;

std::vector<EventId> EventsOf(const Activation& here, const Instruction& instruction,
                              size_t segment) {
  std::vector<EventId> events;
  size_t begin = instruction.op->SegmentBegin(segment);
  size_t count = instruction.op->Segment(segment).size();
  for (size_t i = begin; i < begin + count; ++i)
    events.push_back(here.events[instruction.operands[i].index]);
  return events;
}

/// The failure with the place of the op that asked for it.
Failure Located(const Instruction& instruction, const Failure& failure) {
  return {fmt::format("{}: error: {}", ToString(instruction.op->loc()), failure.message),
          failure.kind};
}

}  // namespace

void RunAlloc(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  AllocRequest request{op.attr<AttrKey::Name>(), op.attr<AttrKey::Device>(),
                       op.result()->type()->scalar, instruction.numbers};
  Result<TensorId> made = core.facts.host->Alloc(request);
  if (!made.ok()) return core.Fail(Located(instruction, made.failure()));
  here.tensor(instruction.results[0]) = {nullptr, request.scalar, request.sizes, {}, *made};
}

void RunFree(Core& core, Activation& here, const Instruction& instruction) {
  TensorId tensor = here.tensor(instruction.operands[0]).id;
  Status status = core.facts.host->Free(tensor, EventsOf(here, instruction, ir::FreeOp::at_after));
  if (!status.ok()) core.Fail(Located(instruction, status.failure()));
}

void RunTransfer(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  TensorValue moved = here.tensor(instruction.operands[0]);
  TransferRequest request{moved.id, op.attr<AttrKey::Device>(), op.attr<AttrKey::Queue>(),
                          op.attr<AttrKey::Cause>(),
                          EventsOf(here, instruction, ir::TransferOp::at_after)};
  Result<TransferResult> result = core.facts.host->Transfer(request);
  if (!result.ok()) return core.Fail(Located(instruction, result.failure()));
  moved.id = result->tensor;
  here.tensor(instruction.results[0]) = std::move(moved);
  here.events[instruction.results[1].index] = result->event;
}

void RunMark(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  Result<EventId> event =
      core.facts.host->Mark(op.attr<AttrKey::Device>(), op.attr<AttrKey::Queue>());
  if (!event.ok()) return core.Fail(Located(instruction, event.failure()));
  here.events[instruction.results[0].index] = *event;
}

void RunLaunch(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  LaunchRequest request;
  request.kernel = op.attr<AttrKey::Callee>();
  if (op.HasAttr(AttrKey::Constants)) request.constants = op.attr<AttrKey::Constants>();
  request.device = op.attr<AttrKey::Device>();
  request.queue = op.attr<AttrKey::Queue>();
  if (!op.Segment(ir::LaunchOp::at_cores).empty()) {
    request.core_num =
        ir::Extended(op.operand(0)->type()->scalar, here.scalar(instruction.operands[0]));
  }
  size_t first = op.SegmentBegin(ir::LaunchOp::at_arguments);
  for (size_t i = first; i < first + op.Segment(ir::LaunchOp::at_arguments).size(); ++i) {
    Slot slot = instruction.operands[i];
    Scalar scalar = op.operand(i)->type()->scalar;
    if (slot.kind == SlotKind::Tensor) {
      request.arguments.push_back({here.tensor(slot).id, scalar, 0});
    } else {
      request.arguments.push_back({TensorId(), scalar, here.scalar(slot)});
    }
  }
  request.after = EventsOf(here, instruction, ir::LaunchOp::at_after);
  Result<EventId> event = core.facts.host->Launch(request);
  if (!event.ok()) return core.Fail(Located(instruction, event.failure()));
  here.events[instruction.results[0].index] = *event;
}

}  // namespace kdl::interp
