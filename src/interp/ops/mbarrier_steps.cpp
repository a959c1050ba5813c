#include "interp/ops/mbarrier_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "interp/elements.h"
#include "interp/workgroup.h"
#include "ir/views.h"

namespace kdl::interp {

namespace {

WorkgroupMbarriers& MbarriersOf(Core& core) { return core.facts.workgroup->mbarriers(); }

int64_t MbarrierScalar(Activation& here, const Instruction& instruction, size_t operand) {
  return static_cast<int64_t>(here.scalar(instruction.operands[operand]));
}

/// Returns the mbarrier that the op names. If it does not exist, reports an internal error.
WorkgroupMbarriers::MbarrierId MbarrierOf(Core& core, const Instruction& instruction,
                                          size_t operand, int64_t number) {
  const ir::Value* mbarriers = instruction.op->operand(operand);
  if (number < 0 || number >= mbarriers->type()->dims[0]->value)
    core.Break(instruction, fmt::format("uses mbarrier {}, which does not exist", number));
  return {mbarriers, number};
}

void Tell(Core& core, const Instruction& instruction, const std::string& fault) {
  if (!fault.empty()) core.facts.workgroup->Stop(core, instruction, fault);
}

}  // namespace

void RunMbarrierInit(Core& core, Activation&, const Instruction& instruction) {
  const ir::Value* mbarriers = instruction.op->operand(0);
  Tell(core, instruction,
       MbarriersOf(core).Open(core.facts.thread, mbarriers, mbarriers->type()->dims[0]->value,
                              instruction.op->attr<ir::AttrKey::Arrivals>()));
}

void RunMbarrierInvalidate(Core& core, Activation&, const Instruction& instruction) {
  Tell(core, instruction, MbarriersOf(core).Close(core.facts.thread, instruction.op->operand(0)));
}

void RunMbarrierArrive(Core& core, Activation& here, const Instruction& instruction) {
  WorkgroupMbarriers::MbarrierId mbarrier =
      MbarrierOf(core, instruction, 0, MbarrierScalar(here, instruction, 1));
  if (core.state != MachineState::Running) return;
  Tell(core, instruction, MbarriersOf(core).Arrive(core.facts.thread, mbarrier));
}

void RunMbarrierWait(Core& core, Activation& here, const Instruction& instruction) {
  WorkgroupMbarriers::MbarrierId mbarrier =
      MbarrierOf(core, instruction, 0, MbarrierScalar(here, instruction, 1));
  if (core.state != MachineState::Running) return;
  bool waits = false;
  int64_t phase = MbarrierScalar(here, instruction, 2);
  bool is_first = MbarriersOf(core).HasUnawaitedCopies(mbarrier);
  Tell(core, instruction, MbarriersOf(core).Await(core.facts.thread, mbarrier, phase, &waits));
  if (!waits) {
    if (core.state != MachineState::Running || !is_first) return;
    core.facts.workgroup->EndCopiesAt(core, instruction, mbarrier);
    return;
  }
  if (core.facts.workgroup->is_stuck())
    return Tell(core, instruction, "waits for a phase of an mbarrier that never completes");
  --core.frames.back().next;
  core.state = MachineState::AtMbarrier;
}

void BeginAtMbarrier(Core& core, Activation& here, const Instruction& instruction, AsyncCopy copy) {
  using Copy = ir::AsyncCopyOp;
  const ir::Op& op = *instruction.op;
  int64_t slot = MbarrierScalar(here, instruction, op.SegmentBegin(Copy::at_place));
  WorkgroupMbarriers::MbarrierId mbarrier =
      MbarrierOf(core, instruction, op.SegmentBegin(Copy::at_mbarriers), slot);
  if (core.state != MachineState::Running) return;
  Tell(core, instruction, MbarriersOf(core).Fill(core.facts.thread, {copy.buffer, slot}, mbarrier));
  if (core.state == MachineState::Running)
    core.facts.workgroup->BeginCopyAt(mbarrier, std::move(copy));
}

/// Checks that the strides are multiples of 16 bytes, which drivers require.
void RunTileCopyFits(Core&, Activation& here, const Instruction& instruction) {
  constexpr int64_t kAligned = 16;
  const TensorValue& tensor = here.tensor(instruction.operands[0]);
  bool fits = std::ranges::all_of(tensor.sizes, [](int64_t size) { return size > 0; });
  for (size_t d = 0; d + 1 < tensor.sizes.size(); ++d) {
    int64_t bytes = tensor.strides[d] * Bytes(tensor.scalar);
    fits &= bytes > 0 && bytes % kAligned == 0;
  }
  here.scalar(instruction.results[0]) = fits ? 1 : 0;
}

void RunProxyFence(Core& core, Activation&, const Instruction&) {
  core.facts.workgroup->races().ProxyFence(core.facts.thread);
}

void RunMmaCommit(Core& core, Activation&, const Instruction&) {
  core.facts.workgroup->races().MmaCommit(core.facts.thread);
}

void RunMmaWait(Core& core, Activation&, const Instruction& instruction) {
  core.facts.workgroup->races().MmaWait(core.facts.thread,
                                        instruction.op->attr<ir::AttrKey::Ahead>());
}

}  // namespace kdl::interp
