#include "interp/locate/core_pair.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "interp/launch_state.h"
#include "ir/op_info.h"
#include "support/check.h"
#include "support/float_bits.h"

namespace kdl::interp {

namespace {

constexpr uint64_t kOpsBetweenStopChecks = 64;

CoreFacts With(CoreFacts facts, LaunchState& launch, Workgroup& workgroup) {
  facts.launch = &launch;
  facts.workgroup = &workgroup;
  return facts;
}

/// Whether the results of the op are complete as soon as the op has been executed. Other ops execute regions or fns, or
/// may have to wait.
bool IsComplete(const ir::Op& op) {
  return op.regions().empty() && !op.info().has(ir::kTerminator) && !op.info().has(ir::kSuspends) &&
         op.kind() != ir::OpKind::Call;
}

uint64_t ExactBits(Scalar scalar, uint64_t bits) {
  return IsFloat(scalar) ? std::bit_cast<uint64_t>(FloatValue(scalar, bits)) : bits;
}

/// Gives a result in the exact run the value that it has in the kernel's own run.
void CopyValue(const Activation& here, Slot slot, Scalar scalar, Activation& exact,
               Slot exact_slot) {
  if (slot.kind == SlotKind::Scalar) {
    exact.scalar(exact_slot) = ExactBits(scalar, here.scalars[slot.index]);
  } else if (slot.kind == SlotKind::Tile) {
    auto tile = std::make_shared<Tile>(*here.tiles[slot.index]);
    for (uint64_t& bits : tile->elements) bits = ExactBits(scalar, bits);
    exact.tile(exact_slot) = std::move(tile);
  }
}

/// Copies the elements of a result that the language leaves unspecified, such as those that a mask excludes. Their bits
/// are different numbers in each type.
void CopyUnspecified(const Activation& here, Slot slot, Scalar scalar, Activation& exact,
                     Slot exact_slot) {
  if (slot.kind != SlotKind::Tile || !here.tiles[slot.index]) return;
  const std::vector<uint64_t>& elements = here.tiles[slot.index]->elements;
  const std::vector<uint64_t>& exact_elements = exact.tile(exact_slot)->elements;
  uint64_t unspecified = UnspecifiedBits(Scalar::F64);
  if (std::ranges::find(exact_elements, unspecified) == exact_elements.end()) return;
  auto tile = std::make_shared<Tile>(*exact.tile(exact_slot));
  for (size_t i = 0; i < elements.size(); ++i) {
    if (tile->elements[i] == unspecified) tile->elements[i] = ExactBits(scalar, elements[i]);
  }
  exact.tile(exact_slot) = std::move(tile);
}

}  // namespace

CorePair::CorePair(const LaunchHalf& own, const LaunchHalf& exact, CoreFacts facts,
                   const Judge& judge)
    : judge_(&judge),
      workgroups_{std::make_unique<Workgroup>(1), std::make_unique<Workgroup>(1)},
      own_(own.image, With(facts, own.state, *workgroups_[0])),
      exact_(exact.image, With(facts, exact.state, *workgroups_[1])) {
  own.params.ApplyTo(own_);
  exact.params.ApplyTo(exact_);
}

MachineState CorePair::RunToBarrier(const std::function<bool()>& is_stopped) {
  own_.core().Resume();
  exact_.core().Resume();
  for (uint64_t step = 1; own_.core().state == MachineState::Running && !trap_; ++step) {
    ExecuteNextOps();
    if (step % kOpsBetweenStopChecks == 0 && is_stopped && is_stopped()) break;
  }
  if (own_.core().state == MachineState::Trapped) trap_ = own_.core().trap;
  return trap_ ? MachineState::Trapped : own_.core().state;
}

void CorePair::ExecuteNextOps() {
  Core& own = own_.core();
  Core& exact = exact_.core();
  const Frame& frame = own.frames.back();
  if (frame.next == frame.block->instructions.size()) {
    own.ExecuteNextOp();
    return exact.ExecuteNextOp();
  }
  const Instruction& instruction = frame.block->instructions[frame.next];
  Activation& here = *frame.here;
  Frame& exact_frame = exact.frames.back();
  const Instruction& exact_instruction = exact_frame.block->instructions[exact_frame.next];
  Activation& there = *exact_frame.here;
  const Instruction* call = frame.owner;
  const Instruction* exact_call = exact_frame.owner;
  size_t depth = own.frames.size();
  own.ExecuteNextOp();
  bool is_one_op = instruction.op->kind() == ir::OpKind::Call &&
                   exact_instruction.op->kind() != ir::OpKind::Call;
  while (is_one_op && own.frames.size() > depth && own.state == MachineState::Running)
    own.ExecuteNextOp();
  // A core that has trapped in a fn may run on, and then stops with a trap.
  while (own.earliest && own.state == MachineState::Running) own.ExecuteNextOp();
  if (own.state == MachineState::Trapped || own.state == MachineState::Broken) return;
  bool is_undefined = exact_instruction.op->info().is_computed() && !exact_instruction.eval;
  if (is_undefined) {
    // Such as a float that is made from bits.
    ++exact_frame.next;
    CopyValue(here, instruction.results[0], instruction.op->result()->type()->scalar, there,
              exact_instruction.results[0]);
  } else {
    exact.ExecuteNextOp();
  }
  KDL_CHECK(exact.state == own.state && exact.frames.size() == own.frames.size(),
            "the run in f64 does not follow '{}': {}", QuotedText(*instruction.op), exact.fault);
  bool returns = instruction.op->kind() == ir::OpKind::Return && own.frames.size() < depth && call;
  if (returns) {
    Finish(*call, *own.frames.back().here, *exact_call, *exact.frames.back().here);
  } else if (is_one_op || IsComplete(*instruction.op)) {
    Finish(instruction, here, exact_instruction, there);
  }
}

void CorePair::Finish(const Instruction& instruction, Activation& here,
                      const Instruction& exact_instruction, Activation& exact) {
  const ir::Op& op = *instruction.op;
  if (op.results().empty()) return;
  for (size_t i = 0; i < op.results().size(); ++i) {
    Scalar scalar = op.result(i)->type()->scalar;
    if (IsFloat(scalar))
      CopyUnspecified(here, instruction.results[i], scalar, exact, exact_instruction.results[i]);
  }
  trap_ = judge_->Check({own_.core(), instruction, here, exact, exact_instruction});
  for (size_t i = 0; i < op.results().size(); ++i) {
    Scalar scalar = op.result(i)->type()->scalar;
    if (!IsFloat(scalar))
      CopyValue(here, instruction.results[i], scalar, exact, exact_instruction.results[i]);
  }
}

}  // namespace kdl::interp
