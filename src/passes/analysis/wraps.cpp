#include "passes/analysis/wraps.h"

#include <cstdint>

#include "ir/views.h"
#include "passes/analysis/terms.h"

namespace kdl::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int64_t kSmall = int64_t{1} << 32;

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
  bool above = Of(greater).above;
  bool below = Of(lesser).below;
  stated_[lesser].above |= above;
  stated_[greater].below |= below;
  known_.clear();
}

bool Wraps::MayWrap(const Value* value) {
  const Op* def = WithoutBroadcasts(value);
  bool computes = def && (def->kind() == OpKind::Add || def->kind() == OpKind::Sub ||
                          def->kind() == OpKind::Mul || def->kind() == OpKind::Neg);
  return computes && value->type()->scalar == Scalar::I64 && !Of(value).both() && !IsNextTurn(def);
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
  if (scalar != Scalar::I64 && scalar != Scalar::U64) return {true, true};
  auto known = known_.find(value);
  if (known != known_.end()) return known->second;
  Bounded bounded = value->def() ? OfResult(value) : OfParam(value);
  if (auto stated = stated_.find(value); stated != stated_.end()) {
    bounded.below |= stated->second.below;
    bounded.above |= stated->second.above;
  }
  known_.emplace(value, bounded);
  return bounded;
}

Wraps::Bounded Wraps::OfParam(const Value* param) {
  std::optional<LoopBounds> bounds = LoopBoundsOf(param);
  if (bounds) return {Of(bounds->lo).below, Of(bounds->hi).above};
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
  bool stays = end && carried < end->operands().size() &&
               Of(loop->operand(first + carried)).both() && NoFurther(end->operand(carried), param);
  return {stays, stays};
}

/// Whether it is no further from 0 than a carried value, or bounded by itself.
bool Wraps::NoFurther(const Value* value, const Value* carried) {
  if (value == carried || Of(value).both()) return true;
  const Op* def = value->def();
  if (!def) return false;
  auto of = [&](size_t i) { return NoFurther(def->operand(i), carried); };
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
    return {Of(made->start()).below, Of(made->start()).above && Of(made->size()).above};
  LoopBounds bounds = *LoopBoundsOf(blk);
  return {Of(bounds.lo).below, Of(bounds.hi).above};
}

Wraps::Bounded Wraps::OfResult(const Value* value) {
  const Op* def = value->def();
  auto of = [&](size_t i) { return Of(def->operand(i)); };
  auto all = [&] {
    for (const Value* operand : def->operands()) {
      if (!Of(operand).both()) return Bounded{};
    }
    return Bounded{true, true};
  };
  switch (def->kind()) {
    case OpKind::Const: {
      auto number = static_cast<int64_t>(def->attr<ir::AttrKey::Bits>());
      return {number >= -kSmall, number <= kSmall};
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
      return {true, OfElements(def->operand(0)).both()};
    case OpKind::Min:
      return {of(0).below && of(1).below, of(0).above || of(1).above};
    case OpKind::Max:
      return {of(0).below || of(1).below, of(0).above && of(1).above};
    case OpKind::Rem:
      return of(1);
    case OpKind::Broadcast:
    case OpKind::Snapshot:
    case OpKind::Cast:
      return of(0);
    case OpKind::Select:
      return {of(1).below && of(2).below, of(1).above && of(2).above};
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Neg:
    case OpKind::Div:
      return all();
    default:
      return {};
  }
}

}  // namespace kdl::passes
