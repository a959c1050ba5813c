#include "passes/analysis/wraps.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ir/views.h"
#include "passes/analysis/table_values.h"
#include "passes/analysis/terms.h"

namespace kdl::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int64_t kSmall = int64_t{1} << 32;
constexpr int kMostBits = 56;  ///< sums of many such numbers stay inside

int BitsOf(int64_t number) {
  auto bits = static_cast<uint64_t>(number);
  return std::bit_width(number < 0 ? ~bits + 1 : bits);
}

const Op* WithoutBroadcasts(const Value* value) {
  const Op* def = value->def();
  while (def && (def->kind() == OpKind::Broadcast || def->kind() == OpKind::Snapshot))
    def = def->operand(0)->def();
  return def;
}

}  // namespace

Wraps::Wraps(const ir::Function& function) {
  for (const Op* op : *function.body) {
    if (op->kind() == OpKind::Require || op->info().has(ir::kPure)) continue;
    if (op->kind() != OpKind::Assert) return;
    if (op->operands().size() == 1) AddStated(op->operand(0));
  }
}

/// What a condition says that holds.
void Wraps::AddStated(const Value* condition) {
  const Op* def = condition->def();
  if (!def) return;
  switch (def->kind()) {
    case OpKind::And:
      AddStated(def->operand(0));
      return AddStated(def->operand(1));
    case OpKind::Lt:
    case OpKind::Le:
      return AddAtMost(def->operand(0), def->operand(1));
    case OpKind::Gt:
    case OpKind::Ge:
      return AddAtMost(def->operand(1), def->operand(0));
    default:
      return;
  }
}

void Wraps::AddAtMost(const Value* lesser, const Value* greater) {
  if (lesser->type()->scalar != Scalar::I64) return;
  Bounded above = Of(greater);
  Bounded below = Of(lesser);
  auto state = [&](const Value* value, bool is_above, bool is_below, int bits) {
    Bounded& stated = stated_[value];
    stated.above |= is_above;
    stated.below |= is_below;
    stated.bits = std::max(stated.bits, bits);
  };
  if (above.above) state(lesser, true, false, above.bits);
  if (below.below) state(greater, false, true, below.bits);
  known_.clear();
}

/// What is stated of a sum or product is said of what 64 bits hold of it: it counts for what is made of that, not here.
bool Wraps::MayWrap(const Value* value) {
  const Op* def = WithoutBroadcasts(value);
  bool computes = def && (def->kind() == OpKind::Add || def->kind() == OpKind::Sub ||
                          def->kind() == OpKind::Mul || def->kind() == OpKind::Neg);
  if (!computes || value->type()->scalar != Scalar::I64) return false;
  bool parts_may =
      std::ranges::any_of(def->operands(), [&](const Value* operand) { return MayWrap(operand); });
  return parts_may || (!OfComputed(def).both() && !IsNextTurn(def));
}

/// Of the number of a turn, which is below the loop's end: one more.
bool Wraps::IsNextTurn(const Op* def) {
  if (def->kind() != OpKind::Add) return false;
  for (size_t i : {0, 1}) {
    const Value* turn = def->operand(i);
    const Op* one = WithoutBroadcasts(def->operand(1 - i));
    bool is_one = one && one->kind() == OpKind::Const &&
                  static_cast<int64_t>(one->attr<ir::AttrKey::Bits>()) == 1;
    if (is_one && !turn->def() && LoopBoundsOf(turn)) return true;
  }
  return false;
}

Wraps::Bounded Wraps::Of(const Value* value) {
  Scalar scalar = value->type()->scalar;
  if (scalar == Scalar::Bool) return {true, true, 1};
  if (!IsInteger(scalar)) return {};
  if (Info(scalar).bits < 64) return {true, true, Info(scalar).bits};
  auto known = known_.find(value);
  if (known != known_.end()) return known->second;
  Bounded bounded = value->def() ? OfResult(value) : OfParam(value);
  if (auto stated = stated_.find(value); stated != stated_.end()) {
    bounded.below |= stated->second.below;
    bounded.above |= stated->second.above;
    bounded.bits = std::max(bounded.bits, stated->second.bits);
  }
  known_[value] = bounded;
  return bounded;
}

bool Wraps::IsBoundedTimes(const Value* value, Size factor) {
  int bits = IsConstant(factor) ? BitsOf(factor->value) : 0;
  return IsBounded(value) && Of(value).bits + bits <= kMostBits;
}

/// From one number on, up to another one.
Wraps::Bounded Wraps::Between(const Bounded& lo, const Bounded& hi) {
  return {lo.below, hi.above, std::max(lo.bits, hi.bits)};
}

Wraps::Bounded Wraps::OneOf(const Bounded& a, const Bounded& b) {
  return {a.below && b.below, a.above && b.above, std::max(a.bits, b.bits)};
}

Wraps::Bounded Wraps::OfParam(const Value* param) {
  std::optional<LoopBounds> bounds = LoopBoundsOf(param);
  if (bounds) return Between(Of(bounds->lo), Of(bounds->hi));
  const ir::Function* function = param->block()->function();
  bool is_size =
      function && param->block() == function->body && param->index() < function->dims.size();
  if (is_size || !param->block()->parent()) return {is_size, is_size};
  return OfCarried(param);
}

/// What starts bounded and never grows from turn to turn stays so.
Wraps::Bounded Wraps::OfCarried(const Value* param) {
  const Op* loop = param->block()->parent();
  known_[param] = {};  // of what is made of it in another way
  size_t binders = LoopBoundsOf(param->block()->param(0)) ? 1 : 0;
  size_t carried = param->index() - binders;
  size_t first = loop->kind() == OpKind::While ? 0 : loop->kind() == OpKind::For ? 2 : 3;
  bool walks =
      loop->kind() == OpKind::While || loop->kind() == OpKind::For || loop->kind() == OpKind::Loop;
  if (!walks || first + carried >= loop->operands().size()) return {};
  const Op* end = param->block()->terminator();
  const Value* init = loop->operand(first + carried);
  int bits = Of(init).bits;
  bool stays = end && carried < end->operands().size() && Of(init).both() &&
               NoFurther(end->operand(carried), param, bits);
  return {stays, stays, bits};
}

/// Whether it is no further from 0 than a carried value, or bounded by itself.
bool Wraps::NoFurther(const Value* value, const Value* carried, int& bits) {
  if (value == carried) return true;
  bits = std::max(bits, Of(value).bits);
  if (Of(value).both()) return true;
  const Op* def = value->def();
  if (!def) return false;
  auto of = [&](size_t i) { return NoFurther(def->operand(i), carried, bits); };
  switch (def->kind()) {
    case OpKind::Div:
    case OpKind::Shr:
    case OpKind::Snapshot:
      return of(0);
    case OpKind::Min:
    case OpKind::Max:
      return of(0) && of(1);
    case OpKind::Select:
      return of(1) && of(2);
    default:
      return false;
  }
}

/// The indices of its elements.
Wraps::Bounded Wraps::OfElements(const Value* blk) {
  if (auto made = ir::DynAs<ir::MakeBlkOp>(blk->def()))
    return OneOf(Of(made->start()), {true, Of(made->size()).above, Of(made->size()).bits});
  LoopBounds bounds = *LoopBoundsOf(blk);
  return Between(Of(bounds.lo), Of(bounds.hi));
}

Wraps::Bounded Wraps::OfComputed(const Op* def) {
  Bounded all{true, true};
  for (const Value* operand : def->operands()) {
    Bounded of = Of(operand);
    if (!of.both()) return {};
    bool adds = all.bits > 0 && of.bits > 0;
    all.bits = def->kind() == OpKind::Mul ? all.bits + of.bits
                                          : std::max(all.bits, of.bits) + (adds ? 1 : 0);
  }
  return all.bits <= kMostBits ? all : Bounded{};
}

Wraps::Bounded Wraps::OfResult(const Value* value) {
  const Op* def = value->def();
  auto of = [&](size_t i) { return Of(def->operand(i)); };
  switch (def->kind()) {
    case OpKind::Const: {
      auto number = static_cast<int64_t>(def->attr<ir::AttrKey::Bits>());
      return {number >= -kSmall, number <= kSmall, BitsOf(number)};
    }
    case OpKind::Load: {
      std::optional<std::vector<int64_t>> values = TableValues(value);
      if (!values) return {};
      auto [least, most] = std::ranges::minmax(*values);
      return {least >= -kSmall, most <= kSmall, std::max(BitsOf(least), BitsOf(most))};
    }
    case OpKind::SizeOf:
    case OpKind::CoreId:
    case OpKind::CoreNum:
      return {true, true};
    case OpKind::Iota:
    case OpKind::BlkStart:
      return OfElements(def->operand(0));
    case OpKind::BlkSize:
    case OpKind::BlkIndex:
      return {true, OfElements(def->operand(0)).both(), OfElements(def->operand(0)).bits};
    case OpKind::Min:
      return {of(0).below && of(1).below, of(0).above || of(1).above,
              std::max(of(0).bits, of(1).bits)};
    case OpKind::Max:
      return {of(0).below || of(1).below, of(0).above && of(1).above,
              std::max(of(0).bits, of(1).bits)};
    case OpKind::Rem:
      return of(1);
    case OpKind::Broadcast:
    case OpKind::Snapshot:
    case OpKind::Cast:
      return of(0);
    case OpKind::Select:
      return OneOf(of(1), of(2));
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Neg:
    case OpKind::Div:
      return OfComputed(def);
    default:
      return {};
  }
}

}  // namespace kdl::passes
