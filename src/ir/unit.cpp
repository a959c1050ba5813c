#include "ir/unit.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ir/eval/eval.h"
#include "ir/eval/round_odd.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

/// Whether the factor has all axes that the contraction folds, so that its own elements can be summed up along them.
bool SumsUp(const Op& contraction, const Value* factor) {
  return std::ranges::all_of(contraction.attr<AttrKey::Axes>(), [&](AxisId axis) {
    return std::ranges::find(factor->type()->axes, axis) != factor->type()->axes.end();
  });
}

/// Whether every number of the one type is one of the other.
bool GoesInto(Scalar from, Scalar to) {
  return from == to || (Bytes(from) < Bytes(to) && (IsSigned(to) || !IsSigned(from)));
}

}  // namespace

std::optional<FittedFactors> FitFactors(const Unit& unit, const Op& contraction) {
  Value* a = NarrowFactor(contraction.operand(ContractionOp::at_a));
  Value* b = NarrowFactor(contraction.operand(ContractionOp::at_b));
  auto moves = [](const Value* factor, Scalar to) { return !GoesInto(factor->type()->scalar, to); };
  for (const Value* factor : {a, b}) {
    Scalar scalar = factor->type()->scalar;
    if (!IsInteger(scalar) || Bytes(scalar) > Bytes(unit.a)) return std::nullopt;
  }
  std::optional<FittedFactors> best;
  for (FittedFactors fitted : {FittedFactors{a, b}, FittedFactors{b, a}}) {
    fitted.moves_a = moves(fitted.a, unit.a);
    fitted.moves_b = moves(fitted.b, unit.b);
    if (!fitted.moves_a && !fitted.moves_b) return fitted;
    const Value* moved = fitted.moves_a ? fitted.a : fitted.b;
    const Value* summed = fitted.moves_a ? fitted.b : fitted.a;
    bool can = fitted.moves_a != fitted.moves_b && SumsUp(contraction, summed);
    if (can && (!best || moved == b)) best = fitted;
  }
  return best;
}

Value* NarrowFactor(Value* factor) {
  const Op* cast = factor->def();
  bool widens = cast && cast->kind() == OpKind::Cast && IsInteger(factor->type()->scalar) &&
                IsInteger(cast->operand(0)->type()->scalar) &&
                Bytes(cast->operand(0)->type()->scalar) < Bytes(factor->type()->scalar);
  return widens ? cast->operand(0) : factor;
}

bool IsTf32(const Value* factor) { return factor->def() && factor->def()->kind() == OpKind::Tf32; }

bool Suits(const Unit& unit, const Op& contraction) {
  if (contraction.attr<AttrKey::Order>() != OrderKind::Chain ||
      contraction.attr<AttrKey::Acc>() != unit.acc)
    return false;
  if (unit.order == StepOrder::Any) return FitFactors(unit, contraction).has_value();
  if (unit.of_tf32 && !(IsTf32(contraction.operand(0)) && IsTf32(contraction.operand(1))))
    return false;
  return contraction.operand(0)->type()->scalar == unit.a &&
         contraction.operand(1)->type()->scalar == unit.b;
}

bool TakesAsTheyAre(const Unit& unit, const Op& contraction) {
  if (!Suits(unit, contraction)) return false;
  if (unit.order != StepOrder::Any) return true;
  std::optional<FittedFactors> fitted = FitFactors(unit, contraction);
  return !fitted->moves_a && !fitted->moves_b;
}

const Unit* BestUnit(std::span<const Unit* const> units, const Op& contraction) {
  const Unit* best = nullptr;
  std::pair<int64_t, bool> least;
  for (const Unit* unit : units) {
    if (!Suits(*unit, contraction)) continue;
    std::pair<int64_t, bool> cost = {Bytes(unit->a), !TakesAsTheyAre(*unit, contraction)};
    if (best && cost >= least) continue;
    best = unit;
    least = cost;
  }
  return best;
}

bool IsSound(const Unit& unit) {
  bool pairs = unit.order != StepOrder::Pairs ||
               (std::has_single_bit(static_cast<unsigned>(unit.depth)) && unit.term == OpKind::Mul);
  pairs = pairs && (unit.order != StepOrder::PairsInSequence ||
                    (unit.depth % 2 == 0 && unit.term == OpKind::Mul));
  bool any = unit.order != StepOrder::Any || (IsInteger(unit.acc) && unit.term == OpKind::Mul);
  bool chains = unit.order != StepOrder::TwoChains ||
                (unit.flushes && GroupOf(unit) == 2 && unit.term == OpKind::FmaFlush);
  bool groups = unit.group >= 0 && unit.depth % GroupOf(unit) == 0;
  bool of_pairs = unit.order == StepOrder::Pairs || unit.order == StepOrder::PairsInSequence;
  bool odd = !unit.to_odd || (of_pairs && unit.acc == Scalar::F32);
  bool apart = unit.apart == 0 || (unit.goes_on && unit.apart % unit.depth == 0);
  bool tf32 = !unit.of_tf32 || (unit.a == Scalar::F32 && unit.b == Scalar::F32);
  return unit.depth >= 1 && unit.depth <= kMaxUnitDepth && pairs && any && chains && groups &&
         odd && apart && tf32;
}

namespace {

struct StepEval {
  EvalFn flush;
  EvalFn term;
  EvalFn add;
  bool flushes;

  uint64_t Taken(uint64_t bits) const { return flushes ? flush(&bits, nullptr) : bits; }
  uint64_t Sum(uint64_t a, uint64_t b) const {
    uint64_t operands[] = {a, b};
    return add(operands, nullptr);
  }
};

StepEval EvalOf(const Unit& unit) {
  return {FindEval(OpKind::Flush, unit.acc, unit.acc),
          unit.to_odd ? MulToOdd : FindEval(unit.term, unit.acc, unit.acc),
          unit.to_odd ? AddToOdd : FindEval(OpKind::Add, unit.acc, unit.acc), unit.flushes};
}

uint64_t AfterChains(const Unit& unit, uint64_t acc, const uint64_t* a, const uint64_t* b) {
  StepEval eval = EvalOf(unit);
  uint64_t chains[2] = {};
  for (int iteration = 0; iteration < unit.depth; iteration += 2) {
    for (int chain : {0, 1})
      chains[chain] = RunChain(unit, chain, chains[chain], a + iteration, b + iteration);
  }
  uint64_t both = eval.Taken(eval.Sum(chains[0], chains[1]));
  return eval.Taken(eval.Sum(eval.Taken(acc), both));
}

}  // namespace

uint64_t TakeSum(const Unit& unit, uint64_t acc, uint64_t sum) {
  return EvalOf(unit).Sum(acc, sum);
}

uint64_t RunChain(const Unit& unit, int chain, uint64_t acc, const uint64_t* a, const uint64_t* b) {
  StepEval eval = EvalOf(unit);
  uint64_t operands[] = {eval.Taken(a[chain]), eval.Taken(b[chain]), eval.Taken(acc)};
  return eval.term(operands, nullptr);
}

uint64_t RunStep(const Unit& unit, uint64_t acc, const uint64_t* a, const uint64_t* b) {
  if (unit.order == StepOrder::TwoChains) return AfterChains(unit, acc, a, b);
  StepEval eval = EvalOf(unit);
  acc = eval.Taken(acc);
  std::vector<uint64_t> products;
  for (int iteration = 0; iteration < unit.depth; ++iteration) {
    int i = TermAt(unit, iteration);
    uint64_t operands[] = {eval.Taken(a[i]), eval.Taken(b[i]), acc};
    uint64_t term = eval.term(operands, nullptr);
    switch (unit.order) {
      case StepOrder::Pairs:
      case StepOrder::PairsInSequence:
        products.push_back(term);
        break;
      case StepOrder::Any:
        acc = eval.Sum(acc, term);
        break;
      default:
        acc = term;
    }
  }
  if (products.empty()) return acc;
  auto sum = [&](uint64_t x, uint64_t y) { return eval.Sum(x, y); };
  if (unit.order == StepOrder::PairsInSequence) {
    for (size_t i = 0; i < products.size(); i += 2)
      acc = eval.Sum(acc, eval.Sum(products[i], products[i + 1]));
    return acc;
  }
  return eval.Sum(acc, InPairs(std::move(products), sum));
}

}  // namespace kdl::ir
