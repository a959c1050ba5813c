#include "targets/cpu/expand/accumulate.h"

// contraction: `into` plus the products of a and b over the folded axes, one fma a term, or the steps of a unit.
//   chain    ascending from `into`
//   lanes64  lane 0 starts from `into`, the others from +0

namespace kdl::cpu {

namespace {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;

Value* MultiplyAdd(Expander& e, const ir::Unit* unit, Value* a, Value* b, Value* c) {
  if (unit) {
    Value* const operands[] = {a, b, c};
    return e.b.Make(unit->term, {a, b, c}, e.b.ElementwiseType(unit->acc, operands));
  }
  if (IsFloat(c->type()->scalar)) return e.b.Fma(a, b, c);
  return e.b.Binary(OpKind::Add, c, e.b.Binary(OpKind::Mul, a, b));
}

}  // namespace

Accumulation Products(Expander& e, const ir::Op* op, const Values& factors, Value* into) {
  auto acc = op->attr<AttrKey::Acc>();
  const ir::Unit* unit = ir::UnitOf(*op, e.module.context());
  return {op,
          op->attr<AttrKey::Axes>(),
          factors,
          acc,
          into,
          e.b.Bits(acc, 0),
          [&e](Value* sum, Value* other) { return e.b.Binary(OpKind::Add, sum, other); },
          [&e, unit](Value* sum, const Values& terms) {
            return MultiplyAdd(e, unit, terms[0], terms[1], sum);
          },
          unit};
}

}  // namespace kdl::cpu
