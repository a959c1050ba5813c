#include "ir/eval.h"
#include "passes/expand/folds.h"
#include "support/check.h"

// reduce: for each element of the result, loops over the reduced axes in the order of the list, last fastest.
//   chain    one accumulator, carried
//   lanes64  64 accumulators; element n of the last axis's block goes to lane n mod 64

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

OpKind CombineOf(ir::FoldKind fold) {
  switch (fold) {
    case ir::FoldKind::Sum:
      return OpKind::Add;
    case ir::FoldKind::Prod:
      return OpKind::Mul;
    case ir::FoldKind::Max:
      return OpKind::Max;
    case ir::FoldKind::Min:
      return OpKind::Min;
    case ir::FoldKind::Any:
      return OpKind::Or;
    case ir::FoldKind::All:
      return OpKind::And;
  }
  KDL_UNREACHABLE();
}

Value* ReduceChain(Expander& e, const ir::ReduceOp& reduce, Value* identity, Position& position) {
  OpKind combine = CombineOf(reduce->attr<AttrKey::Fold>());
  return MakeNest(
      e, reduce.op, reduce->attr<AttrKey::Axes>(), position, {identity},
      [&](const Values& carried) -> Values {
        return {e.b.Binary(combine, carried[0], ElementOf(e, reduce.value(), position))};
      })[0];
}

Value* ReduceLanes(Expander& e, const ir::ReduceOp& reduce, Value* identity, Position& position) {
  OpKind combine = CombineOf(reduce->attr<AttrKey::Fold>());
  ir::AxisList axes = reduce->attr<AttrKey::Axes>();
  kdl::Scalar acc = reduce->attr<AttrKey::Acc>();
  Value* lanes = NewLanes(e, acc, identity, identity);
  MakeNest(e, reduce.op, axes, position, {}, [&](const Values&) -> Values {
    UpdateLane(e, lanes, acc, position.at(axes.back()), [&](Value* lane) {
      return e.b.Binary(combine, lane, ElementOf(e, reduce.value(), position));
    });
    return {};
  });
  return FoldLanes(e, lanes, acc, combine);
}

}  // namespace

void ExpandReduce(Expander& e, const Op* op) {
  ir::ReduceOp reduce(const_cast<Op*>(op));
  kdl::Scalar acc = op->attr<AttrKey::Acc>();
  const ir::AxisList& axes = op->result()->type()->axes;
  std::optional<Home> home;
  if (!axes.empty()) home = ResultHome(e, op, 0);
  bool lanes = op->attr<AttrKey::Order>() == ir::OrderKind::Lanes64;
  Position position;
  MakeNest(e, op, axes, position, {}, [&](const Values&) -> Values {
    Value* identity = e.b.Bits(acc, ir::FoldIdentity(op->attr<AttrKey::Fold>(), acc));
    Value* value = lanes ? ReduceLanes(e, reduce, identity, position)
                         : ReduceChain(e, reduce, identity, position);
    TakeResult(e, op, home, position, value);
    return {};
  });
}

}  // namespace kdl::passes
