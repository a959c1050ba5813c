#include "interp/team.h"

#include <fmt/format.h>

namespace kdl::interp {

Buffer& Team::Memory(const ir::Value* buffer, size_t elements) {
  auto [known, is_new] = memories_.try_emplace(buffer);
  Shared& shared = known->second;
  if (is_new) {
    shared.buffer.elements.resize(elements);
    shared.buffer.defined.assign(elements, false);
    shared.marks.resize(elements);
  }
  return shared.buffer;
}

bool Team::TouchBuffer(Core& core, const Instruction& instruction, const ir::Value* buffer,
                       int64_t offset, TouchKind kind) {
  if (workers_ == 1) return true;
  Shared& shared = memories_.at(buffer);
  auto element = static_cast<size_t>(offset);
  if (kind == TouchKind::Read && !shared.buffer.defined[element])
    return Stop(core, instruction, "reads what nobody has written yet");
  return Touch(core, instruction, shared.marks[element], kind);
}

bool Team::TouchTensor(Core& core, const Instruction& instruction, const std::byte* address,
                       TouchKind kind) {
  return workers_ == 1 || Touch(core, instruction, tensors_[address], kind);
}

bool Team::Stop(Core& core, const Instruction& instruction, const std::string& what) const {
  Trap trap{KDL_TRAP_SIZES,
            instruction.op,
            -1,
            0,
            0,
            fmt::format("'{}': worker {} {}, with no barrier between", QuotedText(*instruction.op),
                        core.facts.worker, what)};
  trap.finding = FindingKind::Race;
  core.Stop(trap);
  return false;
}

bool Team::Touch(Core& core, const Instruction& instruction, Mark& mark, TouchKind kind) {
  int64_t worker = core.facts.worker;
  if (mark.interval != interval_) mark = {interval_, kNobody, kNobody, kNobody};
  bool reads = kind == TouchKind::Read;
  bool updates = kind == TouchKind::Atomic;
  auto collides = [&](int64_t other) { return other != kNobody && other != worker; };
  auto race = [&](int64_t other, std::string_view what) {
    std::string who = other == kSeveral ? "several workers" : fmt::format("worker {}", other);
    return Stop(core, instruction, fmt::format("touches what {} {}", who, what));
  };
  if (collides(mark.writer)) return race(mark.writer, "wrote");
  if (!reads && collides(mark.reader)) return race(mark.reader, "read");
  if (!updates && collides(mark.updater)) return race(mark.updater, "updated");
  int64_t& touched = reads ? mark.reader : updates ? mark.updater : mark.writer;
  touched = touched == kNobody || touched == worker ? worker : kSeveral;
  return true;
}

}  // namespace kdl::interp
