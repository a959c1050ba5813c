#include "ir/unit.h"

#include <bit>
#include <utility>

#include "ir/eval.h"

namespace kdl::ir {

bool Suits(const Unit& unit, const Op& contraction) {
  return contraction.attr<AttrKey::Order>() == OrderKind::Chain &&
         contraction.operand(0)->type()->scalar == unit.factors &&
         contraction.attr<AttrKey::Acc>() == unit.acc;
}

bool IsSound(const Unit& unit) {
  bool pairs = unit.order != StepOrder::Pairs ||
               (std::has_single_bit(static_cast<unsigned>(unit.depth)) && unit.term == OpKind::Mul);
  return unit.depth >= 1 && unit.depth <= kMaxUnitDepth && pairs;
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
    unit.order == StepOrder::Pairs ? products.push_back(term) : void(acc = term);
  }
  if (products.empty()) return acc;
  auto sum = [&](uint64_t x, uint64_t y) { return eval.Sum(x, y); };
  return eval.Sum(acc, InPairs(std::move(products), sum));
}

}  // namespace kdl::ir
