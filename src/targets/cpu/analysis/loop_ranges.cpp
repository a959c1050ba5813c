#include "targets/cpu/analysis/loop_ranges.h"

#include <utility>

#include "passes/rewrite.h"

namespace kdl::cpu {

namespace {

constexpr int kDeepest = 8;  // loops and sums that are looked through

/// The loop whose index the value is; null: it is none's.
const Op* LoopOf(const Value* value) {
  if (value->def()) return nullptr;
  const Op* around = value->block()->parent();
  bool is_index = around && around->kind() == OpKind::Loop && around->region()->param(0) == value;
  return is_index ? around : nullptr;
}

/// Without sums of which a part is 0.
const Value* Stripped(const Value* value) {
  const Op* def = value->def();
  if (!def || (def->kind() != OpKind::Add && def->kind() != OpKind::Sub)) return value;
  if (ConstantOf(def->operand(1)) == 0) return Stripped(def->operand(0));
  bool adds_to_nothing = def->kind() == OpKind::Add && ConstantOf(def->operand(0)) == 0;
  return adds_to_nothing ? Stripped(def->operand(1)) : value;
}

bool IsKind(const Value* value, OpKind kind) {
  return value->def() && value->def()->kind() == kind;
}

bool IsNatural(const Value* given, int depth) {
  const Value* value = Stripped(given);
  if (std::optional<int64_t> constant = ConstantOf(value)) return *constant >= 0;
  if (depth == kDeepest) return false;
  if (const Op* loop = LoopOf(value)) return IsNatural(loop->operand(0), depth + 1);
  auto is_natural = [&](size_t i) { return IsNatural(value->def()->operand(i), depth + 1); };
  if (IsKind(value, OpKind::Max)) return is_natural(0) || is_natural(1);
  return IsKind(value, OpKind::Min) && is_natural(0) && is_natural(1);
}

bool IsBelow(const Value* given, const Value* bound, int depth);

bool IsAtMost(const Value* given, const Value* bound, int depth) {
  const Value* value = Stripped(given);
  std::optional<int64_t> constant = ConstantOf(value);
  std::optional<int64_t> most = ConstantOf(bound);
  if (value == bound || (constant && most && *constant <= *most)) return true;
  if (depth == kDeepest) return false;
  auto is_at_most = [&](size_t i) { return IsAtMost(value->def()->operand(i), bound, depth + 1); };
  if (IsKind(value, OpKind::Min) && (is_at_most(0) || is_at_most(1))) return true;
  return IsBelow(value, bound, depth + 1);
}

bool IsBelow(const Value* given, const Value* bound, int depth) {
  const Value* value = Stripped(given);
  std::optional<int64_t> constant = ConstantOf(value);
  std::optional<int64_t> most = ConstantOf(bound);
  if (constant && most) return *constant < *most;
  if (depth == kDeepest) return false;
  if (const Op* loop = LoopOf(value)) return IsAtMost(loop->operand(1), bound, depth + 1);
  if (!IsKind(value, OpKind::Sub)) return false;
  // n - 1 of an n that is not negative does not wrap.
  const Value* whole = value->def()->operand(0);
  return ConstantOf(value->def()->operand(1)).value_or(0) > 0 && IsNatural(whole, depth + 1) &&
         IsAtMost(whole, bound, depth + 1);
}

}  // namespace

bool StaysBelow(const Value* index, const Value* size) {
  return IsNatural(index, 0) && IsBelow(index, Stripped(size), 0);
}

}  // namespace kdl::cpu
