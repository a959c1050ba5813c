#include "interp/ops/launch_memory.h"

#include "interp/launch_state.h"
#include "support/check.h"

namespace kdl::interp {

void RunLaunchTensor(Core& core, Activation& here, const Instruction& instruction) {
  KDL_CHECK(core.facts.launch, "a launch_tensor is used outside of a launch");
  auto stop = [&](std::string why) {
    core.Stop({KDL_TRAP_SIZES, instruction.op, -1, 0, 0, std::move(why)});
  };
  if (instruction.faulty) return stop(NoValueText(instruction.faulty));
  ir::Type type = instruction.op->result()->type();
  auto bytes = static_cast<int64_t>(Bytes(type->scalar));
  for (int64_t size : instruction.numbers) {
    if (size >= 0 && !__builtin_mul_overflow(bytes, size, &bytes)) continue;
    Name name = instruction.op->attr<ir::AttrKey::Name>();
    return stop(fmt::format("tensor '{}' would have 2^63 bytes or more", name.text()));
  }
  here.tensor(instruction.results[0]) = core.facts.launch->LaunchTensorMemory(
      instruction.op, instruction.numbers, static_cast<size_t>(bytes));
}

/// Waits for all cores of the launch. A core arrives after its own stages have ended; the launch resumes
/// the cores after all of them have arrived.
void RunSync(Core& core, Activation&, const Instruction&) {
  if (!core.others.empty()) return core.Block();
  core.state = MachineState::AtBarrier;
}

void RunBarrier(Core& core, Activation&, const Instruction&) {
  core.state = MachineState::AtWorkgroupBarrier;
}

}  // namespace kdl::interp
