#include <algorithm>

#include "irgen/function_gen.h"
#include "support/check.h"

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;

ir::FoldKind FoldOf(sema::ReduceKind kind) {
  switch (kind) {
    case sema::ReduceKind::Sum:
      return ir::FoldKind::Sum;
    case sema::ReduceKind::Prod:
      return ir::FoldKind::Prod;
    case sema::ReduceKind::Max:
      return ir::FoldKind::Max;
    case sema::ReduceKind::Min:
      return ir::FoldKind::Min;
    case sema::ReduceKind::Any:
      return ir::FoldKind::Any;
    case sema::ReduceKind::All:
      return ir::FoldKind::All;
    case sema::ReduceKind::Dot:
      break;
  }
  KDL_UNREACHABLE("a dot is a contraction");
}

std::vector<ir::AxisId> Without(const std::vector<ir::AxisId>& axes, const ir::AxisList& removed) {
  std::vector<ir::AxisId> kept;
  for (ir::AxisId axis : axes) {
    if (std::find(removed.begin(), removed.end(), axis) == removed.end()) kept.push_back(axis);
  }
  return kept;
}

/// A value that lacks a reduced axis counts once for each of its elements.
Value* WithAxes(FunctionGen& gen, Value* value, const ir::AxisList& axes) {
  std::vector<ir::AxisId> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  return gen.builder.Broadcast(value, ir::UnionAxes(value->type()->axes, sorted));
}

/// An operand of a contraction in its memory type, where all that happened to it was widening.
Value* Narrowed(Value* value) {
  ir::Op* def = value->def();
  bool widened =
      def && def->kind() == OpKind::Cast && IsNarrowFloat(def->operand(0)->type()->scalar);
  return widened ? def->operand(0) : value;
}

struct Operands {
  Value* a;
  Value* b;
};

Operands GenOperands(FunctionGen& gen, const syntax::ReduceExpr& dot, Scalar accumulator) {
  Value* a = GenExpr(gen, dot.operands[0]);
  Value* b = GenExpr(gen, dot.operands[1]);
  Value* narrow_a = Narrowed(a);
  Value* narrow_b = Narrowed(b);
  if (narrow_a != a && narrow_b != b && narrow_a->type()->scalar == narrow_b->type()->scalar)
    return {narrow_a, narrow_b};
  return {gen.builder.Cast(a, accumulator), gen.builder.Cast(b, accumulator)};
}

Value* GenContract(FunctionGen& gen, const syntax::ReduceExpr& dot, Value* into) {
  const sema::ReduceInfo& info = *gen.Info(&dot).reduce;
  ir::AxisList over = gen.AxesOf(info.ranges);
  Operands operands = GenOperands(gen, dot, info.accumulator);
  ir::AxisList missing;
  for (ir::AxisId axis : over) {
    auto has = [&](Value* v) {
      return Without(v->type()->axes, {axis}).size() != v->type()->axes.size();
    };
    if (!has(operands.a) && !has(operands.b)) missing.push_back(axis);
  }
  if (!missing.empty()) operands.a = WithAxes(gen, operands.a, missing);
  std::vector<ir::AxisId> axes =
      Without(ir::UnionAxes(operands.a->type()->axes, operands.b->type()->axes), over);
  if (into) {
    axes = ir::UnionAxes(axes, into->type()->axes);
  } else {
    into = gen.builder.Bits(info.accumulator, 0);
  }
  into = gen.builder.Broadcast(into, axes);
  ir::Type type = gen.builder.types().Tile(info.accumulator, std::move(axes));
  return gen.builder.Make(
      OpKind::Contract, {operands.a, operands.b, into}, type,
      {ir::MakeAttr<ir::AttrKey::Axes>(over), ir::MakeAttr<ir::AttrKey::Acc>(info.accumulator),
       ir::MakeAttr<ir::AttrKey::Order>(ir::OrderKind::Open)});
}

}  // namespace

Value* GenReduce(FunctionGen& gen, const syntax::ReduceExpr& reduce) {
  const sema::ReduceInfo& info = *gen.Info(&reduce).reduce;
  if (info.kind == sema::ReduceKind::Dot) return GenContract(gen, reduce, nullptr);
  ir::AxisList over = gen.AxesOf(info.ranges);
  // Widened narrow floats fold in f32: exact for max and min, the defined accumulator for sum and prod.
  Scalar accumulator = IsNarrowFloat(info.accumulator) ? Scalar::F32 : info.accumulator;
  Value* value = gen.builder.Cast(GenExpr(gen, reduce.operands[0]), accumulator);
  value = WithAxes(gen, value, over);
  ir::Type type = gen.builder.types().Tile(accumulator, Without(value->type()->axes, over));
  return gen.builder.Make(
      OpKind::Reduce, {value}, type,
      {ir::MakeAttr<ir::AttrKey::Fold>(FoldOf(info.kind)), ir::MakeAttr<ir::AttrKey::Axes>(over),
       ir::MakeAttr<ir::AttrKey::Acc>(accumulator),
       ir::MakeAttr<ir::AttrKey::Order>(ir::OrderKind::Open)});
}

Value* GenContractInto(FunctionGen& gen, const syntax::ReduceExpr& dot, Value* into) {
  return GenContract(gen, dot, into);
}

}  // namespace kdl::irgen
