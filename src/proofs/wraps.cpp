#include "proofs/wraps.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "ir/op_info.h"
#include "ir/views.h"
#include "proofs/accesses.h"
#include "proofs/made_values.h"

namespace kdl::proofs {

namespace {

constexpr double kSmall = 0x1p32;

/// Converts the bits of an integer to its value.
double IntegerValue(uint64_t bits, Scalar scalar) {
  return scalar == Scalar::U64 ? static_cast<double>(bits)
                               : static_cast<double>(static_cast<int64_t>(bits));
}

/// The magnitude of a number between `least` and `most`.
Magnitude From(double least, double most) {
  return {least >= -kSmall, most <= kSmall, std::max(-least, most)};
}

/// The magnitude of a known number.
Magnitude MagnitudeOfNumber(int64_t number) {
  Magnitude magnitude = {true, true, std::abs(static_cast<double>(number))};
  return magnitude.stays() ? magnitude : Magnitude{};
}

const Op* WithoutBroadcasts(const Value* value) {
  const Op* def = value->def();
  while (def && (def->kind() == OpKind::Broadcast || def->kind() == OpKind::Snapshot))
    def = def->operand(0)->def();
  return def;
}

}  // namespace

/// Collects what the asserts at the start of a kernel state. An access before an assert is executed although
/// the assert may fail. So if its index or mask needs a sum that may wrap, the asserts after it count for
/// nothing. In a fn, an assert does not check the elements that a mask of the call excludes.
Wraps::Wraps(const ir::Function& function) : function_(function) {
  if (function.kind != ir::FunctionKind::Kernel) return;
  std::set<const Value*> checked;
  for (const Op* op : *function.body) {
    if (op->info().has(ir::kActs) || !op->regions().empty()) return;
    bool states = op->kind() == OpKind::Assert && op->operands().size() == 1;
    if (states) AddStated(op->operand(0));
    if (op->HasAttr(AttrKey::BoundsMode) && AnyMayWrap(op->operands(), checked)) return;
  }
}

/// Returns whether a sum or product from which one of the values is computed may wrap. `checked` contains
/// values that are known not to need such a sum.
bool Wraps::AnyMayWrap(std::span<Value* const> values, std::set<const Value*>& checked) {
  std::vector<const Value*> left(values.begin(), values.end());
  while (!left.empty()) {
    const Value* value = left.back();
    left.pop_back();
    if (!checked.insert(value).second || !value->def()) continue;
    if (MayWrap(value)) return true;
    left.insert(left.end(), value->def()->operands().begin(), value->def()->operands().end());
  }
  return false;
}

/// Records what a condition states if it is true.
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
  Magnitude above = MagnitudeOf(greater);
  Magnitude below = MagnitudeOf(lesser);
  auto state = [&](const Value* value, Magnitude stated) {
    stated_[value] = Joined(stated_[value], stated);
  };
  if (above.above) state(lesser, Widest(above, above, false, true));
  if (below.below) state(greater, Widest(below, below, true, false));
  known_.clear();
  found_.clear();
  may_wrap_.clear();
}

/// An assert about a sum or product constrains its wrapped 64-bit value. The assert thus bounds what is
/// computed from that value, but does not show that the sum or product itself does not wrap.
bool Wraps::MayWrap(const Value* value) {
  const Op* def = WithoutBroadcasts(value);
  if (def && def->kind() == OpKind::SizeOf) return !IsBounded(def->attr<AttrKey::Size>());
  bool computes = def && (def->kind() == OpKind::Add || def->kind() == OpKind::Sub ||
                          def->kind() == OpKind::Mul || def->kind() == OpKind::Neg);
  if (!computes || value->type()->scalar != Scalar::I64) return false;
  auto known = may_wrap_.find(value);
  if (known != may_wrap_.end()) return known->second;
  bool parts_may =
      std::ranges::any_of(def->operands(), [&](const Value* operand) { return MayWrap(operand); });
  return may_wrap_[value] = parts_may || (!MagnitudeOfComputed(def).both() &&
                                          !IsNextIteration(def) && !IsEndOfBlock(def));
}

/// Whether `def` adds the start and the size of a loop's block. This cannot wrap, because the sum is at most the
/// loop's end.
bool Wraps::IsEndOfBlock(const Op* def) { return def->kind() == OpKind::Add && BlockEndingAt(def); }

/// Whether `def` adds 1 to an iteration number. This cannot wrap, because the number is less than the loop's
/// end.
bool Wraps::IsNextIteration(const Op* def) {
  if (def->kind() != OpKind::Add) return false;
  for (size_t i : {0, 1}) {
    const Value* iteration = def->operand(i);
    const Op* one = WithoutBroadcasts(def->operand(1 - i));
    bool is_one = one && one->kind() == OpKind::Const &&
                  static_cast<int64_t>(one->attr<AttrKey::Bits>()) == 1;
    if (is_one && !iteration->def() && LoopEndsOf(iteration)) return true;
  }
  return false;
}

Magnitude Wraps::MagnitudeOf(const Value* value) {
  Scalar scalar = value->type()->scalar;
  if (scalar == Scalar::Bool) return {true, true, 1};
  if (!IsInteger(scalar)) return {};
  if (Info(scalar).bits < 64) return {true, true, std::ldexp(1, Info(scalar).bits)};
  auto known = known_.find(value);
  if (known != known_.end()) return known->second;
  Magnitude magnitude = value->def() ? MagnitudeOfResult(value) : MagnitudeOfParam(value);
  if (auto stated = stated_.find(value); stated != stated_.end())
    magnitude = Joined(magnitude, stated->second);
  known_[value] = magnitude;
  found_.push_back(value);
  return magnitude;
}

Magnitude Wraps::MagnitudeOf(Size size) {
  switch (size->kind) {
    case SizeKind::Constant:
      return MagnitudeOfNumber(size->value);
    case SizeKind::Symbol:
      return MagnitudeOfSymbol(size->symbol);
    case SizeKind::Add:
    case SizeKind::Sub:
      return MagnitudeOf(size->lhs) + MagnitudeOf(size->rhs);
    case SizeKind::Mul:
      return MagnitudeOf(size->lhs) * MagnitudeOf(size->rhs);
    case SizeKind::FloorDiv:
      return MagnitudeOf(size->rhs).both() ? MagnitudeOf(size->lhs) : Magnitude{};
    case SizeKind::Mod:
    case SizeKind::Min:
      return OneOf(MagnitudeOf(size->lhs), MagnitudeOf(size->rhs));
  }
  return {};
}

/// Returns the magnitude of a size name. For an int generic, the magnitude covers all values that it may
/// have.
Magnitude Wraps::MagnitudeOfSymbol(Name symbol) const {
  if (symbol.text() == ir::kCoreNum) return MagnitudeOfLaunch({});
  for (const ir::Generic& generic : function_.generics) {
    const std::vector<int64_t>& from = generic.values.empty() ? generic.choices : generic.values;
    if (generic.name != symbol || from.empty()) continue;
    Magnitude magnitude = MagnitudeOfNumber(from[0]);
    for (int64_t choice : from) magnitude = OneOf(magnitude, MagnitudeOfNumber(choice));
    return magnitude;
  }
  return MagnitudeOfLaunch(symbol);
}

Magnitude Wraps::MagnitudeOfParam(const Value* param) {
  std::optional<LoopEnds> bounds = LoopEndsOf(param);
  if (bounds) return Between(MagnitudeOf(bounds->lo), MagnitudeOf(bounds->hi));
  const ir::Function* function = param->parent_region()->function();
  bool is_size = function && param->parent_region() == function->body &&
                 param->index() < function->dims.size();
  if (is_size) return MagnitudeOfSymbol(function->dims[param->index()]);
  if (!param->parent_region()->parent()) return {};
  return MagnitudeOfCarried(param);
}

/// A carried value of a loop, its magnitude so far, and the values that are known not to exceed it.
struct Wraps::Carried {
  const Value* param;
  Magnitude widest;
  std::set<const Value*> seen = {};
};

/// Returns the magnitude of a loop-carried value. The value stays bounded if its initial value is bounded and
/// no iteration increases its distance from 0.
Magnitude Wraps::MagnitudeOfCarried(const Value* param) {
  const Op* loop = param->parent_region()->parent();
  known_[param] = {};  // unknown while the values that depend on it are examined
  size_t before = found_.size();
  size_t binders = LoopEndsOf(param->parent_region()->param(0)) ? 1 : 0;
  size_t carried = param->index() - binders;
  size_t first = loop->kind() == OpKind::While ? 0 : loop->kind() == OpKind::For ? 2 : 3;
  bool walks =
      loop->kind() == OpKind::While || loop->kind() == OpKind::For || loop->kind() == OpKind::Loop;
  if (!walks || first + carried >= loop->operands().size()) return {};
  const Op* end = param->parent_region()->terminator();
  const Value* init = loop->operand(first + carried);
  Carried number{param, MagnitudeOf(init)};
  bool stays = end && carried < end->operands().size() && number.widest.both() &&
               NoFurther(end->operand(carried), number);
  if (!stays) return {};
  // The results that were found in the meantime are based on an unbounded carried value, so they are computed
  // again.
  for (size_t i = before; i < found_.size(); ++i) known_.erase(found_[i]);
  found_.resize(before);
  return number.widest;
}

/// Returns whether a value is not farther from 0 than a carried value, or is bounded independently of the
/// carried value. Stops at the first value for which neither is true.
bool Wraps::NoFurther(const Value* value, Carried& carried) {
  if (value == carried.param || !carried.seen.insert(value).second) return true;
  if (MagnitudeOf(value).both()) {
    carried.widest = OneOf(carried.widest, MagnitudeOf(value));
    return true;
  }
  const Op* def = value->def();
  if (!def) return false;
  auto stays_workgroup = [&](size_t i) { return NoFurther(def->operand(i), carried); };
  switch (def->kind()) {
    case OpKind::Div:
    case OpKind::Shr:
    case OpKind::Snapshot:
      return stays_workgroup(0);
    case OpKind::Min:
    case OpKind::Max:
      return stays_workgroup(0) && stays_workgroup(1);
    case OpKind::Select:
      return stays_workgroup(1) && stays_workgroup(2);
    default:
      return false;
  }
}

Magnitude Wraps::MagnitudeOfElements(const Value* block) {
  if (auto made = ir::DynAs<ir::MakeBlockOp>(block->def())) {
    Magnitude size = MagnitudeOf(made->size());
    return MagnitudeOf(made->start()) + Widest(size, size, size.above, size.above);
  }
  LoopEnds bounds = *LoopEndsOf(block);
  return Between(MagnitudeOf(bounds.lo), MagnitudeOf(bounds.hi));
}

/// Returns the magnitude of a block's number in its loop, which is less than the number of the loop's indices.
Magnitude Wraps::MagnitudeOfBlockIndex(const Value* block) {
  if (auto made = ir::DynAs<ir::MakeBlockOp>(block->def())) return MagnitudeOf(made->index());
  LoopEnds bounds = *LoopEndsOf(block);
  Magnitude indices = MagnitudeOf(bounds.hi) + MagnitudeOf(bounds.lo);
  return Widest(indices, indices, true, indices.both());
}

Magnitude Wraps::MagnitudeOfTerm(const Value* value) {
  if (value->type()->kind == ir::TypeKind::Block) return MagnitudeOfElements(value);
  return IsBounded(value) && !MayWrap(value) ? MagnitudeOf(value) : Magnitude{};
}

/// Returns the summands of a value. Known summands whose sum may overflow 64 bits count as unknown.
Wraps::Summands Wraps::SummandsOf(const Value* value) {
  if (Magnitude known = MagnitudeOfTerm(value); known.both()) return {0, known};
  const Op* def = WithoutBroadcasts(value);
  switch (def && value->type()->kind != ir::TypeKind::Block ? def->kind() : OpKind::Load) {
    case OpKind::Add:
    case OpKind::Sub: {
      Summands sum = SummandsOf(def->operand(0));
      if (sum.unknown > 1) return sum;
      Summands more = SummandsOf(def->operand(1));
      sum.known = sum.known + more.known;
      sum.unknown = sum.known.both() ? sum.unknown + more.unknown : 2;
      return sum;
    }
    case OpKind::Mul:
    case OpKind::Neg:
    case OpKind::SizeOf:
      return {2};
    default:
      return {1};
  }
}

Wraps::Summands Wraps::SummandsOf(const ir::AccessDim& dim, std::span<Value* const> index) {
  Summands sum{0, MagnitudeOf(dim.offset)};
  for (const ir::AccessTerm& term : dim.terms) {
    Summands of_term = SummandsOf(index[term.operand]);
    bool is_once = IsConstant(term.coefficient, 1) || IsConstant(term.coefficient, -1);
    sum.unknown += is_once || of_term.unknown == 0 ? of_term.unknown : 2;
    sum.known = sum.known + of_term.known * MagnitudeOf(term.coefficient);
  }
  return sum;
}

/// Returns the magnitude of a difference. It is unknown for u64, in which a negative difference becomes a
/// large number.
Magnitude Wraps::MagnitudeOfDifference(const Op* def) {
  if (def->result()->type()->scalar == Scalar::U64) return {};
  Magnitude sum = MagnitudeOf(def->operand(0));
  return def->kind() == OpKind::Sub ? sum + MagnitudeOf(def->operand(1)) : sum;
}

Magnitude Wraps::MagnitudeOfCast(const Op* def) {
  const Value* value = def->operand(0);
  bool may_be_below =
      def->result()->type()->scalar == Scalar::U64 && IsSigned(value->type()->scalar);
  return may_be_below ? Magnitude{} : MagnitudeOf(value);
}

Magnitude Wraps::MagnitudeOfComputed(const Op* def) {
  switch (def->kind()) {
    case OpKind::Add:
      return MagnitudeOf(def->operand(0)) + MagnitudeOf(def->operand(1));
    case OpKind::Mul:
      return MagnitudeOf(def->operand(0)) * MagnitudeOf(def->operand(1));
    case OpKind::Sub:
    case OpKind::Neg:
      return MagnitudeOfDifference(def);
    default:
      return {};
  }
}

Magnitude Wraps::MagnitudeOfResult(const Value* value) {
  const Op* def = value->def();
  Scalar scalar = value->type()->scalar;
  auto magnitude = [&](size_t i) { return MagnitudeOf(def->operand(i)); };
  switch (def->kind()) {
    case OpKind::Const: {
      double number = IntegerValue(def->attr<AttrKey::Bits>(), scalar);
      return From(number, number);
    }
    case OpKind::Load: {
      std::optional<std::vector<int64_t>> values = TableValues(value);
      if (!values) return {};
      std::vector<double> numbers;
      for (int64_t each : *values)
        numbers.push_back(IntegerValue(static_cast<uint64_t>(each), scalar));
      return From(std::ranges::min(numbers), std::ranges::max(numbers));
    }
    case OpKind::SizeOf:
      return MagnitudeOf(def->attr<AttrKey::Size>());
    case OpKind::CoreId:
    case OpKind::CoreNum:
      return MagnitudeOfLaunch({});
    case OpKind::Iota:
    case OpKind::BlockStart:
      return MagnitudeOfElements(def->operand(0));
    case OpKind::BlockSize: {
      Magnitude elements = MagnitudeOfElements(def->operand(0));
      return Widest(elements, elements, true, elements.both());
    }
    case OpKind::BlockIndex:
      return MagnitudeOfBlockIndex(def->operand(0));
    case OpKind::Min:
      return Widest(magnitude(0), magnitude(1), magnitude(0).below && magnitude(1).below,
                    magnitude(0).above || magnitude(1).above);
    case OpKind::Max:
      return Widest(magnitude(0), magnitude(1), magnitude(0).below || magnitude(1).below,
                    magnitude(0).above && magnitude(1).above);
    case OpKind::Div:
      return magnitude(0).both() && magnitude(1).both() ? magnitude(0) : Magnitude{};
    case OpKind::Rem:
      return magnitude(1);
    case OpKind::Broadcast:
    case OpKind::Snapshot:
      return magnitude(0);
    case OpKind::Cast:
      return MagnitudeOfCast(def);
    case OpKind::Select:
      if (std::optional<Steps> steps = MatchSteps(def))
        return MagnitudeOf(steps->lo) + MagnitudeOf(steps->hi);
      return OneOf(magnitude(1), magnitude(2));
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Neg:
      return MagnitudeOfComputed(def);
    default:
      return {};
  }
}

std::optional<WrappingSum> FindWrappingSum(const ir::Function& kernel) {
  Wraps wraps(kernel);
  std::optional<WrappingSum> found;
  ir::Walk(kernel.body, [&](const Op* op) {
    bool adds = op->kind() == OpKind::Add || op->kind() == OpKind::Sub;
    if (found || !adds || !wraps.MayWrap(op->result())) return;
    auto is_parameter = [&](const Value* operand) {
      return !operand->def() && operand->parent_region() == kernel.body &&
             !wraps.IsBounded(operand);
    };
    auto operand = std::ranges::find_if(op->operands(), is_parameter);
    if (operand != op->operands().end()) found = {op, *operand};
  });
  return found;
}

}  // namespace kdl::proofs
