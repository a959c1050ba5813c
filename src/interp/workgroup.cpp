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

namespace {

/// Returns whether tile copies or matrix instructions access slots of the buffer asynchronously.
bool HasSlots(const ir::Value* buffer) {
  return buffer->def()->HasAttr(ir::AttrKey::MbarrierOrdered) ||
         buffer->def()->HasAttr(ir::AttrKey::Swizzle);
}

}  // namespace

bool Workgroup::TouchBuffer(Core& core, const Instruction& instruction, const ir::Value* buffer,
                            int64_t offset, TouchKind kind) {
  Shared& shared = memories_.at(buffer);
  auto element = static_cast<size_t>(offset);
  const int64_t thread = core.facts.thread;
  bool reads = kind == TouchKind::Read;
  bool has_slots = HasSlots(buffer);
  bool multiplies = has_slots && instruction.op->kind() == ir::OpKind::Mma;
  std::string fault;
  if (has_slots) {
    int64_t slots = buffer->type()->dims[0]->value;
    RaceDetector::SlotId slot = {buffer, offset / (std::ssize(shared.marks) / slots)};
    fault = multiplies ? races_.MultiplySlot(thread, slot)
            : reads    ? races_.LoadFromSlot(thread, slot)
                       : races_.StoreToSlot(thread, slot);
  }
  if (fault.empty() && reads && threads_ > 1 && !shared.buffer.defined[element])
    fault = "reads an element that has not been written";
  if (fault.empty() && !multiplies) fault = races_.Touch(thread, shared.marks[element], kind);
  return fault.empty() || Stop(core, instruction, fault);
}

bool Workgroup::TouchTensor(Core& core, const Instruction& instruction, const std::byte* address,
                            TouchKind kind) {
  auto known = threads_ > 1 ? tensors_.try_emplace(address).first : tensors_.find(address);
  if (known == tensors_.end()) return true;  // no copy accesses it, and there is no other thread
  std::string fault = races_.Touch(core.facts.thread, known->second, kind);
  return fault.empty() || Stop(core, instruction, fault);
}

// -- Asynchronous copies --------------------------------------------------------------------------

Mark& Workgroup::MarkOf(const AsyncCopy& copy, const AsyncCopy::Element& element) {
  return memories_.at(copy.buffer).marks[static_cast<size_t>(element.offset)];
}

void Workgroup::BeginElements(const AsyncCopy& copy) {
  for (const AsyncCopy::Element& element : copy.elements) {
    RaceDetector::BeginCopy(MarkOf(copy, element), copy.in);
    if (element.address) RaceDetector::BeginCopy(tensors_[element.address], !copy.in);
  }
}

void Workgroup::BeginCopy(int64_t thread, AsyncCopy copy) {
  BeginElements(copy);
  copies_.Begin(thread, std::move(copy));
}

void Workgroup::BeginCopyAt(AsyncCopies::MbarrierId mbarrier, AsyncCopy copy) {
  BeginElements(copy);
  copies_.BeginAt(mbarrier, std::move(copy));
}

void Workgroup::EndCopies(Core& core, const Instruction& instruction,
                          const AwaitedCopies& awaited) {
  for (const AsyncCopy& copy : copies_.End(core.facts.thread, awaited))
    EndCopy(core, instruction, copy);
}

void Workgroup::EndCopiesAt(Core& core, const Instruction& instruction,
                            AsyncCopies::MbarrierId mbarrier) {
  for (const AsyncCopy& copy : copies_.EndAt(mbarrier)) EndCopy(core, instruction, copy);
}

/// Writes the elements of a copy. If its thread has waited for it, the thread accesses them.
void Workgroup::EndCopy(Core& core, const Instruction& instruction, const AsyncCopy& copy) {
  Buffer& buffer = Memory(copy.buffer);
  const Scalar scalar = copy.buffer->type()->scalar;
  bool arrives = copy.buffer->def()->HasAttr(ir::AttrKey::MbarrierOrdered);
  for (const AsyncCopy::Element& element : copy.elements) {
    RaceDetector::EndCopy(MarkOf(copy, element), copy.in);
    if (element.address) RaceDetector::EndCopy(tensors_[element.address], !copy.in);
  }
  for (const auto& [offset, address] : copy.elements) {
    if (!copy.in) {
      WriteElement(address, scalar, buffer.elements[static_cast<size_t>(offset)]);
      if (!TouchTensor(core, instruction, address, TouchKind::Write)) return;
      continue;
    }
    buffer.Define(offset, address ? ReadElement(address, scalar) : 0);
    if (!arrives && !TouchBuffer(core, instruction, copy.buffer, offset, TouchKind::Write)) return;
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

}  // namespace kdl::interp
