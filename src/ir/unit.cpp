#include "ir/unit.h"

#include "ir/eval.h"

namespace kdl::ir {

bool Suits(const Unit& unit, const Op& contraction) {
  return contraction.attr<AttrKey::Order>() == OrderKind::Chain &&
         contraction.operand(0)->type()->scalar == unit.factors &&
         contraction.attr<AttrKey::Acc>() == unit.acc;
}

uint64_t RunStep(const Unit& unit, uint64_t acc, const uint64_t* a, const uint64_t* b) {
  EvalFn flush = FindEval(OpKind::Flush, unit.acc, unit.acc);
  EvalFn term = FindEval(unit.term, unit.acc, unit.acc);
  auto taken = [&](uint64_t bits) { return unit.flushes ? flush(&bits, nullptr) : bits; };
  acc = taken(acc);
  for (int turn = 0; turn < unit.depth; ++turn) {
    int i = TermAt(unit, turn);
    uint64_t operands[] = {taken(a[i]), taken(b[i]), acc};
    acc = term(operands, nullptr);
  }
  return acc;
}

}  // namespace kdl::ir
