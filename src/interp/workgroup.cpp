#include "interp/workgroup.h"

#include <fmt/format.h>

#include "interp/tensor_memory.h"
#include "ir/op_kind.h"

namespace kdl::interp {

Buffer& Workgroup::Memory(const ir::Value* buffer, size_t elements) {
  auto [known, is_new] = memories_.try_emplace(buffer);
  Shared& shared = known->second;
  if (is_new) {
    shared.buffer.elements.resize(elements);
    shared.buffer.defined.assign(elements, false);
    shared.marks.resize(elements);
  }
  return shared.buffer;
}

bool Workgroup::TouchBuffer(Core& core, const Instruction& instruction, const ir::Value* buffer,
                            int64_t offset, TouchKind kind) {
  Shared& shared = memories_.at(buffer);
  if (std::string_view fault = copies_.FaultAt(buffer, offset, kind); !fault.empty())
    return Stop(core, instruction, fault);
  if (buffer->def()->HasAttr(ir::AttrKey::MbarrierOrdered)) {
    int64_t slots = buffer->type()->dims[0]->value;
    WorkgroupMbarriers::SlotId slot = {buffer, offset / (std::ssize(shared.marks) / slots)};
    std::string fault = kind == TouchKind::Read ? mbarriers_.Read(core.facts.thread, slot)
                                                : mbarriers_.Write(core.facts.thread, slot);
    bool unwritten = kind == TouchKind::Read && !shared.buffer.defined[static_cast<size_t>(offset)];
    if (fault.empty() && unwritten) fault = "reads an element that has not been written";
    return fault.empty() || Stop(core, instruction, fault);
  }
  if (buffer->def()->HasAttr(ir::AttrKey::Swizzle) && !TouchPanels(core, instruction, buffer, kind))
    return false;
  if (threads_ == 1) return true;
  auto element = static_cast<size_t>(offset);
  if (kind == TouchKind::Read && !shared.buffer.defined[element])
    return Stop(core, instruction,
                "reads an element that has not been written before the last barrier");
  return Touch(core, instruction, shared.marks[element], kind);
}

/// Tracks buffers that mma steps read asynchronously. Threads must make their writes visible to the steps.
/// A step must have been awaited before any thread changes what the step reads.
bool Workgroup::TouchPanels(Core& core, const Instruction& instruction, const ir::Value* buffer,
                            TouchKind kind) {
  WorkgroupMbarriers::SlotId all = {buffer, 0};
  std::string fault;
  if (kind != TouchKind::Read) fault = mbarriers_.Write(core.facts.thread, all);
  if (kind == TouchKind::Read && instruction.op->kind() == ir::OpKind::Mma)
    fault = mbarriers_.Read(core.facts.thread, all);
  return fault.empty() || Stop(core, instruction, fault);
}

bool Workgroup::TouchTensor(Core& core, const Instruction& instruction, const std::byte* address,
                            TouchKind kind) {
  if (std::string_view fault = copies_.FaultAt(address, kind); !fault.empty())
    return Stop(core, instruction, fault);
  return threads_ == 1 || Touch(core, instruction, tensors_[address], kind);
}

void Workgroup::Complete(Core& core, const Instruction& instruction, const AsyncCopy& copy) {
  Buffer& buffer = Memory(copy.buffer);
  const Scalar scalar = copy.buffer->type()->scalar;
  bool is_ordered = copy.buffer->def()->HasAttr(ir::AttrKey::MbarrierOrdered);
  for (const auto& [offset, address] : copy.elements) {
    if (!copy.in) {
      WriteElement(address, scalar, buffer.elements[static_cast<size_t>(offset)]);
      if (!TouchTensor(core, instruction, address, TouchKind::Write)) return;
      continue;
    }
    buffer.Define(offset, address ? ReadElement(address, scalar) : 0);
    if (!is_ordered && !TouchBuffer(core, instruction, copy.buffer, offset, TouchKind::Write))
      return;
  }
}

bool Workgroup::Stop(Core& core, const Instruction& instruction, std::string_view what) const {
  Trap trap{
      KDL_TRAP_SIZES,
      instruction.op,
      -1,
      0,
      0,
      fmt::format("'{}': thread {} {}", QuotedText(*instruction.op), core.facts.thread, what)};
  trap.finding = FindingKind::Race;
  core.Stop(trap);
  return false;
}

bool Workgroup::Touch(Core& core, const Instruction& instruction, Mark& mark, TouchKind kind) {
  int64_t thread = core.facts.thread;
  if (mark.interval != interval_) mark = {interval_, kNobody, kNobody, kNobody};
  bool reads = kind == TouchKind::Read;
  bool updates = kind == TouchKind::Atomic;
  auto collides = [&](int64_t other) { return other != kNobody && other != thread; };
  auto race = [&](int64_t other, std::string_view what) {
    std::string who = other == kSeveral ? "several threads" : fmt::format("thread {}", other);
    return Stop(
        core, instruction,
        fmt::format("accesses an element that {} {}, without a barrier in between", who, what));
  };
  if (collides(mark.writer)) return race(mark.writer, "wrote");
  if (!reads && collides(mark.reader)) return race(mark.reader, "read");
  if (!updates && collides(mark.updater)) return race(mark.updater, "updated");
  int64_t& touched = reads ? mark.reader : updates ? mark.updater : mark.writer;
  touched = touched == kNobody || touched == thread ? thread : kSeveral;
  return true;
}

}  // namespace kdl::interp
