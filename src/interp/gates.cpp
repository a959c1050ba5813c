#include "interp/gates.h"

#include <fmt/format.h>

#include <algorithm>

#include "interp/elements.h"
#include "interp/handlers.h"
#include "interp/team.h"
#include "ir/views.h"

namespace kdl::interp {

void TeamGates::Clock::Join(const Clock& other) {
  if (times.empty()) times.assign(other.times.size(), 0);
  for (size_t w = 0; w < other.times.size(); ++w) times[w] = std::max(times[w], other.times[w]);
  for (const auto& [slot, box] : other.boxes) boxes[slot] = std::max(boxes[slot], box);
}

bool TeamGates::Knows(int64_t worker, const std::map<int64_t, int64_t>& others) {
  const std::vector<int64_t>& times = Of(worker).clock.times;
  return std::ranges::all_of(others, [&](const auto& other) {
    return other.first == worker || times[static_cast<size_t>(other.first)] >= other.second;
  });
}

std::string TeamGates::Open(int64_t worker, const ir::Value* gates, int64_t count,
                            int64_t arrivals) {
  for (int64_t number = 0; number < count; ++number) {
    auto [gate, is_new] = gates_.try_emplace(GateId{gates, number});
    if (!is_new) return "opens gates that are open";
    gate->second.arrivals = arrivals;
    gate->second.opener = worker;
    gate->second.interval = interval_;
  }
  return "";
}

std::string TeamGates::Close(int64_t worker, const ir::Value* gates) {
  bool steps = std::ranges::any_of(
      clocks_, [](const Worker& each) { return !each.steps.empty() || !each.groups.empty(); });
  if (steps) return "closes gates while steps are under way";
  auto first = gates_.lower_bound({gates, 0});
  if (first == gates_.end() || first->first.first != gates) return "closes gates that are not open";
  while (first != gates_.end() && first->first.first == gates) {
    const Gate& gate = first->second;
    if (gate.unawaited || !gate.boxes.empty())
      return "closes a gate to which a box comes that nobody has awaited";
    for (const auto& [visitor, interval] : gate.visits) {
      if (visitor != worker && interval == interval_)
        return fmt::format("closes a gate to which worker {} came, with no barrier between",
                           visitor);
    }
    first = gates_.erase(first);
  }
  return "";
}

std::string TeamGates::Visit(int64_t worker, GateId id) {
  auto found = gates_.find(id);
  if (found == gates_.end()) return "comes to a gate that is not open";
  Gate& gate = found->second;
  if (gate.opener != worker && gate.interval == interval_)
    return fmt::format("comes to a gate that worker {} opened, with no barrier between",
                       gate.opener);
  gate.visits[worker] = interval_;
  return "";
}

void TeamGates::Come(int64_t worker, Gate& gate) {
  Clock& clock = Of(worker).clock;
  gate.arriving.Join(clock);
  ++clock.times[static_cast<size_t>(worker)];
  ++progress_;
  if (++gate.come < gate.arrivals) return;
  for (const auto& [slot, box] : gate.boxes) gate.arriving.boxes[slot] = box;
  gate.unawaited = !gate.boxes.empty();
  gate.boxes.clear();
  gate.over.Join(gate.arriving);
  gate.come = 0;
  ++gate.phase;
}

std::string TeamGates::Arrive(int64_t worker, GateId id) {
  std::string fault = Visit(worker, id);
  if (fault.empty()) Come(worker, gates_.at(id));
  return fault;
}

std::string TeamGates::Await(int64_t worker, GateId id, int64_t phase, bool* waits) {
  if (std::string fault = Visit(worker, id); !fault.empty()) return fault;
  Gate& gate = gates_.at(id);
  *waits = gate.phase == phase;
  if (*waits) return "";
  if (gate.phase != phase + 1)
    return fmt::format("waits for phase {} of a gate that is in phase {}", phase, gate.phase);
  Of(worker).clock.Join(gate.over);
  gate.unawaited = false;
  ++progress_;
  return "";
}

std::string TeamGates::MayChange(int64_t worker, SlotId id, Slot& slot) {
  if (!slot.under_way.empty())
    return fmt::format("changes what steps of worker {} read", slot.under_way.begin()->first);
  if (!Knows(worker, slot.readers) || !Knows(worker, slot.before))
    return "changes what others read, with no gate between";
  if (slot.is_box && Of(worker).clock.boxes[id] != slot.box)
    return "changes what a box brings that it has not awaited";
  return "";
}

std::string TeamGates::Fill(int64_t worker, SlotId id, GateId gate_id) {
  if (std::string fault = Visit(worker, gate_id); !fault.empty()) return fault;
  Slot& slot = slots_[id];
  if (std::string fault = MayChange(worker, id, slot); !fault.empty()) return fault;
  if (!Knows(worker, slot.writers) || !slot.hidden.empty())
    return "changes what others write, with no gate between";
  Gate& gate = gates_.at(gate_id);
  if (gate.unawaited) return "copies to a gate to which a box has come that nobody has awaited";
  slot = Slot{slot.box + 1, true, {}, {}, {}, {}, {}};
  gate.boxes.emplace_back(id, slot.box);
  Come(worker, gate);
  return "";
}

std::string TeamGates::Write(int64_t worker, SlotId id) {
  Slot& slot = slots_[id];
  if (std::string fault = MayChange(worker, id, slot); !fault.empty()) return fault;
  if (slot.is_box || !slot.readers.empty()) {  // the first one of what comes now
    slot.before = slot.readers;
    slot.readers.clear();
    slot.writers.clear();
    slot.is_box = false;
  }
  slot.writers[worker] = Of(worker).clock.times[static_cast<size_t>(worker)];
  slot.hidden.insert(worker);
  Of(worker).unshown.insert(id);
  return "";
}

void TeamGates::Show(int64_t worker) {
  for (const SlotId& id : Of(worker).unshown) slots_[id].hidden.erase(worker);
  Of(worker).unshown.clear();
}

std::string TeamGates::Read(int64_t worker, SlotId id) {
  Worker& self = Of(worker);
  if (!self.steps.insert(id).second) return "";
  Slot& slot = slots_[id];
  if (slot.is_box && self.clock.boxes[id] != slot.box)
    return "reads what a box brings that it has not awaited";
  if (!slot.hidden.empty())
    return fmt::format("reads what worker {} has not shown", *slot.hidden.begin());
  if (!Knows(worker, slot.writers)) return "reads what others wrote, with no gate between";
  ++slot.under_way[worker];
  return "";
}

void TeamGates::CloseSteps(int64_t worker) {
  Of(worker).groups.push_back(std::exchange(Of(worker).steps, {}));
}

void TeamGates::AwaitSteps(int64_t worker, int64_t ahead) {
  Worker& self = Of(worker);
  while (std::ssize(self.groups) > ahead) {
    for (const SlotId& id : self.groups.front()) {
      Slot& slot = slots_[id];
      if (--slot.under_way[worker] == 0) slot.under_way.erase(worker);
      slot.readers[worker] = self.clock.times[static_cast<size_t>(worker)];
    }
    self.groups.erase(self.groups.begin());
  }
}

void TeamGates::Meet() {
  ++interval_;
  if (slots_.empty() && gates_.empty()) return;
  Clock all;
  for (const Worker& worker : clocks_) all.Join(worker.clock);
  for (size_t w = 0; w < clocks_.size(); ++w) {
    clocks_[w].clock = all;
    ++clocks_[w].clock.times[w];
  }
}

// -- The ops -----------------------------------------------------------------------------------------

namespace {

TeamGates& GatesOf(Core& core) { return core.facts.team->gates(); }

int64_t GateScalar(Activation& here, const Instruction& instruction, size_t operand) {
  return static_cast<int64_t>(here.scalar(instruction.operands[operand]));
}

/// The gate that the op names; with the core stopped where it is none.
TeamGates::GateId GateOf(Core& core, const Instruction& instruction, size_t operand,
                         int64_t number) {
  const ir::Value* gates = instruction.op->operand(operand);
  if (number < 0 || number >= gates->type()->dims[0]->value)
    core.Break(instruction, fmt::format("there is no gate {}", number));
  return {gates, number};
}

void Tell(Core& core, const Instruction& instruction, const std::string& fault) {
  if (!fault.empty()) core.facts.team->Stop(core, instruction, fault);
}

}  // namespace

void RunGatesOpen(Core& core, Activation&, const Instruction& instruction) {
  const ir::Value* gates = instruction.op->operand(0);
  Tell(core, instruction,
       GatesOf(core).Open(core.facts.worker, gates, gates->type()->dims[0]->value,
                          instruction.op->attr<ir::AttrKey::Arrivals>()));
}

void RunGatesClose(Core& core, Activation&, const Instruction& instruction) {
  Tell(core, instruction, GatesOf(core).Close(core.facts.worker, instruction.op->operand(0)));
}

void RunGateArrive(Core& core, Activation& here, const Instruction& instruction) {
  TeamGates::GateId gate = GateOf(core, instruction, 0, GateScalar(here, instruction, 1));
  if (core.state != MachineState::Running) return;
  Tell(core, instruction, GatesOf(core).Arrive(core.facts.worker, gate));
}

void RunGateAwait(Core& core, Activation& here, const Instruction& instruction) {
  TeamGates::GateId gate = GateOf(core, instruction, 0, GateScalar(here, instruction, 1));
  if (core.state != MachineState::Running) return;
  bool waits = false;
  int64_t phase = GateScalar(here, instruction, 2);
  Tell(core, instruction, GatesOf(core).Await(core.facts.worker, gate, phase, &waits));
  if (!waits) return;
  if (core.facts.team->is_stuck())
    return Tell(core, instruction, "waits for a phase of a gate that does not end");
  --core.frames.back().next;
  core.state = MachineState::AtGate;
}

void RunCopyBox(Core& core, Activation& here, const Instruction& instruction) {
  using Copy = ir::CopyBoxOp;
  const ir::Op& op = *instruction.op;
  const TensorValue& tensor = here.tensor(instruction.operands[Copy::at_tensor]);
  int64_t slot = GateScalar(here, instruction, op.SegmentBegin(Copy::at_slot));
  TeamGates::GateId gate = GateOf(core, instruction, op.SegmentBegin(Copy::at_gates), slot);
  if (core.state != MachineState::Running || !HasMemory(core, instruction, tensor)) return;
  const ir::Value* value = op.operand(Copy::at_buffer);
  Tell(core, instruction, GatesOf(core).Fill(core.facts.worker, {value, slot}, gate));
  Buffer& buffer = BufferAt(core, here, instruction, Copy::at_buffer);
  const std::vector<int64_t>& extents = instruction.numbers;
  const ir::NumberList along = op.attr<ir::AttrKey::Along>();
  std::vector<int64_t> first;
  for (const DimPlan& dim : instruction.access->dims)
    first.push_back(static_cast<int64_t>(ScalarIndex(here, dim)));
  for (int64_t element = 0; element < extents[1] * extents[2]; ++element) {
    if (core.state != MachineState::Running) return;
    std::vector<int64_t> index = first;
    index[static_cast<size_t>(along[0])] += element / extents[2];
    index[static_cast<size_t>(along[1])] += element % extents[2];
    int64_t place = 0;
    bool inside = true;
    for (size_t d = 0; d < index.size(); ++d) {
      inside &= 0 <= index[d] && index[d] < tensor.sizes[d];
      place += index[d] * tensor.strides[d];
    }
    const std::byte* address = tensor.data + place * Bytes(tensor.scalar);
    if (inside && !Notes(core, instruction, tensor, address, TouchKind::Read)) return;
    Define(buffer, slot * extents[1] * extents[2] + element,
           inside ? ReadElement(address, tensor.scalar) : 0);
  }
}

/// As a driver has it: what lies apart is a multiple of 16 bytes.
void RunBoxFits(Core&, Activation& here, const Instruction& instruction) {
  constexpr int64_t kAligned = 16;
  const TensorValue& tensor = here.tensor(instruction.operands[0]);
  bool fits = std::ranges::all_of(tensor.sizes, [](int64_t size) { return size > 0; });
  for (size_t d = 0; d + 1 < tensor.sizes.size(); ++d) {
    int64_t bytes = tensor.strides[d] * Bytes(tensor.scalar);
    fits &= bytes > 0 && bytes % kAligned == 0;
  }
  here.scalar(instruction.results[0]) = fits ? 1 : 0;
}

void RunShowStores(Core& core, Activation&, const Instruction&) {
  GatesOf(core).Show(core.facts.worker);
}

void RunCloseSteps(Core& core, Activation&, const Instruction&) {
  GatesOf(core).CloseSteps(core.facts.worker);
}

void RunAwaitSteps(Core& core, Activation&, const Instruction& instruction) {
  GatesOf(core).AwaitSteps(core.facts.worker, instruction.op->attr<ir::AttrKey::Ahead>());
}

}  // namespace kdl::interp
