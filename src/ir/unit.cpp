#include "ir/unit.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ir/eval.h"

namespace kdl::ir {

namespace {

bool IntegersFit(const Unit& unit, const Op& contraction) {
  const Value* a = NarrowFactor(contraction.operand(0));
  const Value* b = NarrowFactor(contraction.operand(1));
  auto fits = [&](const Value* factor) {
    Scalar scalar = factor->type()->scalar;
    if (!IsInteger(scalar) || Bytes(scalar) > Bytes(unit.a)) return false;
    return unit.a != unit.b || scalar == unit.a || Bytes(scalar) < Bytes(unit.a);
  };
  bool moves = unit.a != unit.b && a->type()->scalar == b->type()->scalar;
  return fits(a) && fits(b) && (!moves || SumsUp(contraction, a) || SumsUp(contraction, b));
}

}  // namespace

bool SumsUp(const Op& contraction, const Value* factor) {
  return std::ranges::all_of(contraction.attr<AttrKey::Axes>(), [&](AxisId axis) {
    return std::ranges::find(factor->type()->axes, axis) != factor->type()->axes.end();
  });
}

Value* NarrowFactor(Value* factor) {
  const Op* cast = factor->def();
  bool widens = cast && cast->kind() == OpKind::Cast && IsInteger(factor->type()->scalar) &&
                IsInteger(cast->operand(0)->type()->scalar) &&
                Bytes(cast->operand(0)->type()->scalar) < Bytes(factor->type()->scalar);
  return widens ? cast->operand(0) : factor;
}

bool Suits(const Unit& unit, const Op& contraction) {
  if (contraction.attr<AttrKey::Order>() != OrderKind::Chain ||
      contraction.attr<AttrKey::Acc>() != unit.acc)
    return false;
  if (unit.order == StepOrder::Any) return IntegersFit(unit, contraction);
  return contraction.operand(0)->type()->scalar == unit.a;
}

bool IsSound(const Unit& unit) {
  bool pairs = unit.order != StepOrder::Pairs ||
               (std::has_single_bit(static_cast<unsigned>(unit.depth)) && unit.term == OpKind::Mul);
  bool any = unit.order != StepOrder::Any || (IsInteger(unit.acc) && unit.term == OpKind::Mul);
  return unit.depth >= 1 && unit.depth <= kMaxUnitDepth && pairs && any;
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

}  // namespace

uint64_t RunStep(const Unit& unit, uint64_t acc, const uint64_t* a, const uint64_t* b) {
  StepEval eval{FindEval(OpKind::Flush, unit.acc, unit.acc),
                FindEval(unit.term, unit.acc, unit.acc), FindEval(OpKind::Add, unit.acc, unit.acc),
                unit.flushes};
  acc = eval.Taken(acc);
  std::vector<uint64_t> products;
  for (int turn = 0; turn < unit.depth; ++turn) {
    int i = TermAt(unit, turn);
    uint64_t operands[] = {eval.Taken(a[i]), eval.Taken(b[i]), acc};
    uint64_t term = eval.term(operands, nullptr);
    switch (unit.order) {
      case StepOrder::Pairs:
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
  return eval.Sum(acc, InPairs(std::move(products), sum));
}

}  // namespace kdl::ir
