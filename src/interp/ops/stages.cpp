#include "interp/ops/stages.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "interp/pipes.h"
#include "ir/op_info.h"
#include "ir/views.h"

// The stages of a core run in turn: each stage runs until it has to wait for another stage. If all stages
// wait, none of them can ever continue, and the core reports the ops at which they wait.

namespace kdl::interp {

namespace {

/// Returns the op at which a stage waits. Returns null for the kernel itself, which waits for its stages
/// to end.
const Instruction* BlockedAt(const std::vector<Frame>& stage) {
  const Frame& frame = stage.back();
  const Instruction& instruction = frame.block->instructions[frame.next];
  return instruction.op->info().has(ir::kSuspends) ? &instruction : nullptr;
}

std::string Waiting(const std::vector<Frame>& stage, const Instruction& instruction) {
  bool pushes = instruction.op->kind() == ir::OpKind::Push;
  size_t operand = pushes ? size_t{ir::PushOp::at_pipe} : 0;
  const PipeState& pipe = *stage.back().here->pipes[instruction.operands[operand].index];
  return ToString(instruction.op->loc()) + ": " + ir::WaitingText(*instruction.op, pipe.name());
}

}  // namespace

void StartStage(Core& core, Activation& here, const Instruction& instruction) {
  core.others.emplace_back().push_back(
      {&here, &here.code->blocks[instruction.regions[0]], 0, &instruction, {}});
}

void Core::Block() {
  --frames.back().next;
  blocked = true;
}

void Core::SwitchStage() {
  if (frames.empty()) {  // the stage has ended
    rounds_without_step = 0;
  } else {
    blocked = false;
    if (++rounds_without_step > others.size()) return StopStuck();
    others.push_back(std::move(frames));
  }
  frames = std::move(others.front());
  others.erase(others.begin());
}

void Core::StopStuck() {
  Trap stuck;
  stuck.code = KDL_TRAP_STUCK;
  others.push_back(std::move(frames));
  // Sorts the stages in source order, so that the report does not depend on which stage was running.
  std::sort(others.begin(), others.end(), [](const auto& a, const auto& b) {
    return std::less<>{}(a.front().owner, b.front().owner);
  });
  for (const std::vector<Frame>& stage : others) {
    const Instruction* at = BlockedAt(stage);
    if (!at) continue;
    if (!stuck.op) stuck.op = at->op;
    stuck.text += (stuck.text.empty() ? "" : "; ") + Waiting(stage, *at);
  }
  frames = std::move(others.front());
  Stop(stuck);
}

void YieldStage(Core& core, Frame&, const Instruction&) { core.frames.pop_back(); }

}  // namespace kdl::interp
