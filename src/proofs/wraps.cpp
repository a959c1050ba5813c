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

/// Of an integer of a type, by its bits.
double NumberOf(uint64_t bits, Scalar scalar) {
  return scalar == Scalar::U64 ? static_cast<double>(bits)
                               : static_cast<double>(static_cast<int64_t>(bits));
}

/// Of one of these numbers.
Magnitude From(double least, double most) {
  return {least >= -kSmall, most <= kSmall, std::max(-least, most)};
}

/// Of one number that is known.
Magnitude OfNumber(int64_t number) {
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

Wraps::Wraps(const ir::Function& function) : function_(function) {
  for (const Op* op : *function.body) {
    if (op->info().has(ir::kActs) || !op->regions().empty()) return;
    bool states = op->kind() == OpKind::Assert && op->operands().size() == 1;
    if (states) AddStated(op->operand(0));
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
  Magnitude above = Of(greater);
  Magnitude below = Of(lesser);
  auto state = [&](const Value* value, Magnitude stated) {
    stated_[value] = Joined(stated_[value], stated);
  };
  if (above.above) state(lesser, Widest(above, above, false, true));
  if (below.below) state(greater, Widest(below, below, true, false));
  known_.clear();
  found_.clear();
}

/// What is stated of a sum or product is said of what 64 bits hold of it: it counts for what is made of that, not here.
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
  return may_wrap_[value] = parts_may || (!OfComputed(def).both() && !IsNextIteration(def));
}

/// Of the number of a turn, which is below the loop's end: one more.
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

Magnitude Wraps::Of(const Value* value) {
  Scalar scalar = value->type()->scalar;
  if (scalar == Scalar::Bool) return {true, true, 1};
  if (!IsInteger(scalar)) return {};
  if (Info(scalar).bits < 64) return {true, true, std::ldexp(1, Info(scalar).bits)};
  auto known = known_.find(value);
  if (known != known_.end()) return known->second;
  Magnitude magnitude = value->def() ? OfResult(value) : OfParam(value);
  if (auto stated = stated_.find(value); stated != stated_.end())
    magnitude = Joined(magnitude, stated->second);
  known_[value] = magnitude;
  found_.push_back(value);
  return magnitude;
}

Magnitude Wraps::Of(Size size) {
  switch (size->kind) {
    case SizeKind::Constant:
      return OfNumber(size->value);
    case SizeKind::Symbol:
      return OfSymbol(size->symbol);
    case SizeKind::Add:
    case SizeKind::Sub:
      return Of(size->lhs) + Of(size->rhs);
    case SizeKind::Mul:
      return Of(size->lhs) * Of(size->rhs);
    case SizeKind::FloorDiv:
      return Of(size->rhs).both() ? Of(size->lhs) : Magnitude{};
    case SizeKind::Mod:
    case SizeKind::Min:
      return OneOf(Of(size->lhs), Of(size->rhs));
  }
  return {};
}

/// Integer parameters that are chosen later are one of their choices.
Magnitude Wraps::OfSymbol(Name symbol) const {
  if (symbol.text() == ir::kCoreNum) return MagnitudeOfLaunch({});
  for (const ir::Generic& generic : function_.generics) {
    const std::vector<int64_t>& from = generic.values.empty() ? generic.choices : generic.values;
    if (generic.name != symbol || from.empty()) continue;
    Magnitude magnitude = OfNumber(from[0]);
    for (int64_t choice : from) magnitude = OneOf(magnitude, OfNumber(choice));
    return magnitude;
  }
  return MagnitudeOfLaunch(symbol);
}

Magnitude Wraps::OfParam(const Value* param) {
  std::optional<LoopEnds> bounds = LoopEndsOf(param);
  if (bounds) return Between(Of(bounds->lo), Of(bounds->hi));
  const ir::Function* function = param->parent_region()->function();
  bool is_size = function && param->parent_region() == function->body &&
                 param->index() < function->dims.size();
  if (is_size) return OfSymbol(function->dims[param->index()]);
  if (!param->parent_region()->parent()) return {};
  return OfCarried(param);
}

/// What a loop carries, how far it gets, and what has been found to get no further.
struct Wraps::Carried {
  const Value* param;
  Magnitude widest;
  std::set<const Value*> seen = {};
};

/// What starts bounded and never grows from turn to turn stays so.
Magnitude Wraps::OfCarried(const Value* param) {
  const Op* loop = param->parent_region()->parent();
  known_[param] = {};  // of what is made of it in another way
  size_t before = found_.size();
  size_t binders = LoopEndsOf(param->parent_region()->param(0)) ? 1 : 0;
  size_t carried = param->index() - binders;
  size_t first = loop->kind() == OpKind::While ? 0 : loop->kind() == OpKind::For ? 2 : 3;
  bool walks =
      loop->kind() == OpKind::While || loop->kind() == OpKind::For || loop->kind() == OpKind::Loop;
  if (!walks || first + carried >= loop->operands().size()) return {};
  const Op* end = param->parent_region()->terminator();
  const Value* init = loop->operand(first + carried);
  Carried number{param, Of(init)};
  bool stays = end && carried < end->operands().size() && number.widest.both() &&
               NoFurther(end->operand(carried), number);
  if (!stays) return {};
  // Meanwhile it was taken for one that nothing bounds.
  for (size_t i = before; i < found_.size(); ++i) known_.erase(found_[i]);
  found_.resize(before);
  return number.widest;
}

/// Whether it is no further from 0 than a carried value, or bounded by itself. One value that is not ends the search.
bool Wraps::NoFurther(const Value* value, Carried& carried) {
  if (value == carried.param || !carried.seen.insert(value).second) return true;
  if (Of(value).both()) {
    carried.widest = OneOf(carried.widest, Of(value));
    return true;
  }
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

Magnitude Wraps::OfElements(const Value* block) {
  if (auto made = ir::DynAs<ir::MakeBlockOp>(block->def())) {
    Magnitude size = Of(made->size());
    return Of(made->start()) + Widest(size, size, size.above, size.above);
  }
  LoopEnds bounds = *LoopEndsOf(block);
  return Between(Of(bounds.lo), Of(bounds.hi));
}

Magnitude Wraps::OfTerm(const Value* value) {
  if (value->type()->kind == ir::TypeKind::Block) return OfElements(value);
  return IsBounded(value) && !MayWrap(value) ? Of(value) : Magnitude{};
}

/// Known numbers that together may leave 64 bits are unknown ones.
Wraps::Summands Wraps::SummandsOf(const Value* value) {
  if (Magnitude known = OfTerm(value); known.both()) return {0, known};
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
  Summands sum{0, Of(dim.offset)};
  for (const ir::AccessTerm& term : dim.terms) {
    Summands of_term = SummandsOf(index[term.operand]);
    bool is_once = IsConstant(term.coefficient, 1) || IsConstant(term.coefficient, -1);
    sum.unknown += is_once || of_term.unknown == 0 ? of_term.unknown : 2;
    sum.known = sum.known + of_term.known * Of(term.coefficient);
  }
  return sum;
}

/// Numbers of u64 are not below 0: what would be is a great one.
Magnitude Wraps::OfDifference(const Op* def) {
  if (def->result()->type()->scalar == Scalar::U64) return {};
  Magnitude sum = Of(def->operand(0));
  return def->kind() == OpKind::Sub ? sum + Of(def->operand(1)) : sum;
}

Magnitude Wraps::OfCast(const Op* def) {
  const Value* value = def->operand(0);
  bool may_be_below =
      def->result()->type()->scalar == Scalar::U64 && IsSigned(value->type()->scalar);
  return may_be_below ? Magnitude{} : Of(value);
}

Magnitude Wraps::OfComputed(const Op* def) {
  switch (def->kind()) {
    case OpKind::Add:
      return Of(def->operand(0)) + Of(def->operand(1));
    case OpKind::Mul:
      return Of(def->operand(0)) * Of(def->operand(1));
    case OpKind::Sub:
    case OpKind::Neg:
      return OfDifference(def);
    default:
      return {};
  }
}

Magnitude Wraps::OfResult(const Value* value) {
  const Op* def = value->def();
  Scalar scalar = value->type()->scalar;
  auto of = [&](size_t i) { return Of(def->operand(i)); };
  switch (def->kind()) {
    case OpKind::Const: {
      double number = NumberOf(def->attr<AttrKey::Bits>(), scalar);
      return From(number, number);
    }
    case OpKind::Load: {
      std::optional<std::vector<int64_t>> values = TableValues(value);
      if (!values) return {};
      std::vector<double> numbers;
      for (int64_t each : *values) numbers.push_back(NumberOf(static_cast<uint64_t>(each), scalar));
      return From(std::ranges::min(numbers), std::ranges::max(numbers));
    }
    case OpKind::SizeOf:
      return Of(def->attr<AttrKey::Size>());
    case OpKind::CoreId:
    case OpKind::CoreNum:
      return MagnitudeOfLaunch({});
    case OpKind::Iota:
    case OpKind::BlockStart:
      return OfElements(def->operand(0));
    case OpKind::BlockSize:
    case OpKind::BlockIndex: {
      Magnitude elements = OfElements(def->operand(0));
      return Widest(elements, elements, true, elements.both());
    }
    case OpKind::Min:
      return Widest(of(0), of(1), of(0).below && of(1).below, of(0).above || of(1).above);
    case OpKind::Max:
      return Widest(of(0), of(1), of(0).below || of(1).below, of(0).above && of(1).above);
    case OpKind::Div:
      return of(0).both() && of(1).both() ? of(0) : Magnitude{};
    case OpKind::Rem:
      return of(1);
    case OpKind::Broadcast:
    case OpKind::Snapshot:
      return of(0);
    case OpKind::Cast:
      return OfCast(def);
    case OpKind::Select:
      if (std::optional<Steps> steps = StepsOf(def)) return Of(steps->lo) + Of(steps->hi);
      return OneOf(of(1), of(2));
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Neg:
      return OfComputed(def);
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
