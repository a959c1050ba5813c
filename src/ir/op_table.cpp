#include "ir/op_table.h"

#include <unordered_map>

#include "ir/views.h"
#include "support/check.h"

namespace kdl::ir {

namespace {

consteval bool EachDoesOneThing() {
  for (const OpInfo& info : kOpTable) {
    if (info.has(kPure) + info.has(kRepeats) + info.has(kActs) != 1) return false;
  }
  return true;
}
static_assert(EachDoesOneThing(), "an op is one of kPure, kRepeats, kActs");

/// Checks that every op that is allowed only in programs is ordered by events if it accesses elements of
/// tensors.
consteval bool HostEffectsAreOrdered() {
  for (const OpInfo& info : kOpTable) {
    bool host = (info.places & ~(kPrograms | kTests)) == 0;
    bool touches = info.has_operand(Effect::Read) || info.has_operand(Effect::Write) ||
                   info.has_operand(Effect::Change) || info.has_operand(Effect::Accumulate) ||
                   info.has_operand(Effect::ByCallee);
    if (host && touches && !info.is_ordered()) return false;
    if (!host && info.has_operand(Effect::Awaits)) return false;
  }
  return true;
}
static_assert(HostEffectsAreOrdered(), "an op of programs touches tensors and awaits no events");

}  // namespace

const OpInfo& Info(OpKind kind) { return kOpTable[static_cast<size_t>(kind)]; }

const OpInfo& Op::info() const { return Info(kind_); }

void FailView(const Op& op, OpKind wanted) {
  KDL_UNREACHABLE("'{}' viewed as {}", op.info().spelling, Info(wanted).spelling);
}

size_t OperandWith(OpKind kind, Effect effect) {
  const OpInfo& info = Info(kind);
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i].effect == effect) return i;
  }
  KDL_UNREACHABLE("'{}' has no operand with effect {}", info.spelling, static_cast<int>(effect));
}

std::optional<OpKind> OpFromSpelling(std::string_view spelling) {
  static const auto index = [] {
    std::unordered_map<std::string_view, OpKind> by_spelling;
    for (const OpInfo& info : kOpTable) by_spelling.emplace(info.spelling, info.kind);
    return by_spelling;
  }();
  auto found = index.find(spelling);
  return found == index.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace kdl::ir
