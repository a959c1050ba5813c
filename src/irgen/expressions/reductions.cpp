#include "irgen/expressions/reductions.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "irgen/contracts/calls.h"
#include "irgen/walk/carried.h"
#include "irgen/walk/fold_kinds.h"
#include "irgen/walk/generate.h"
#include "support/check.h"

namespace kdl::irgen {

using ir::OpKind;
using ir::Value;

namespace {

/// Broadcasts a value along those reduced axes that it does not have, so that a sum includes it once for each
/// element along these axes.
Value* WithAxes(FunctionGen& gen, Value* value, const ir::AxisList& axes) {
  std::vector<ir::AxisId> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  return gen.builder.Broadcast(value, ir::UnionAxes(value->type()->axes, sorted));
}

/// Returns an operand of a contraction without its conversion from a narrow float type to f32. Returns
/// `value` itself if there is no such conversion.
Value* Narrowed(FunctionGen& gen, const syntax::Expr* operand, Value* value) {
  if (!IsNarrowFloat(gen.Info(operand).type.scalar)) return value;
  ir::Op* def = value->def();
  bool widened =
      def && def->kind() == OpKind::Cast && IsNarrowFloat(def->operand(0)->type()->scalar);
  return widened ? def->operand(0) : value;
}

Value* GenFold(FunctionGen& gen, ir::ReductionKind fold, Value* value, const ir::AxisList& over);

/// Replaces the guards while the operand of a reduction is generated. A guard is the condition for computing
/// an element. If a guard varies along a reduced axis, all elements along this axis are computed if it is
/// true for any of them, since the reduction needs them all.
class OperandGuards {
 public:
  OperandGuards(FunctionGen& gen, const ir::AxisList& over) : gen_(gen) {
    ir::AxisList guarded;
    for (const FunctionGen::Guard& guard : gen.guards)
      guarded = ir::UnionAxes(guarded, guard.condition->type()->axes);
    ir::AxisList shared;
    for (ir::AxisId axis : over) {
      if (ir::WithoutAxes(guarded, {axis}) != guarded) shared.push_back(axis);
    }
    if (shared.empty()) return;
    Value* any = GenFold(gen, ir::ReductionKind::Any, gen.Mask(), shared);
    outer_ = std::exchange(gen.guards, {{any, false}});
  }
  ~OperandGuards() {
    if (outer_) gen_.guards = std::move(*outer_);
  }
  OperandGuards(const OperandGuards&) = delete;
  OperandGuards& operator=(const OperandGuards&) = delete;

 private:
  FunctionGen& gen_;
  std::optional<std::vector<FunctionGen::Guard>> outer_;
};

struct Operands {
  Value* a;
  Value* b;
};

Operands GenOperands(FunctionGen& gen, const syntax::ReduceExpr& dot, Scalar accumulator) {
  OperandGuards guards(gen, gen.RangeAxes(gen.Info(&dot).reduce->ranges));
  Value* a = GenExpr(gen, dot.operands[0]);
  Value* b = GenExpr(gen, dot.operands[1]);
  Value* narrow_a = Narrowed(gen, dot.operands[0], a);
  Value* narrow_b = Narrowed(gen, dot.operands[1], b);
  Scalar of_a = narrow_a->type()->scalar;
  Scalar of_b = narrow_b->type()->scalar;
  bool go_together = of_a == of_b || (IsByteFactor(of_a) && IsByteFactor(of_b));
  if (narrow_a != a && narrow_b != b && go_together) return {narrow_a, narrow_b};
  return {gen.builder.Cast(a, accumulator), gen.builder.Cast(b, accumulator)};
}

Value* GenContraction(FunctionGen& gen, const syntax::ReduceExpr& dot, Value* into) {
  const sema::ReduceInfo& info = *gen.Info(&dot).reduce;
  ir::AxisList over = gen.RangeAxes(info.ranges);
  Operands operands = GenOperands(gen, dot, info.accumulator);
  ir::AxisList missing;
  for (ir::AxisId axis : over) {
    auto has = [&](Value* v) {
      return ir::WithoutAxes(v->type()->axes, {axis}).size() != v->type()->axes.size();
    };
    if (!has(operands.a) && !has(operands.b)) missing.push_back(axis);
  }
  if (!missing.empty()) operands.a = WithAxes(gen, operands.a, missing);
  std::vector<ir::AxisId> axes =
      ir::WithoutAxes(ir::UnionAxes(operands.a->type()->axes, operands.b->type()->axes), over);
  if (into) {
    axes = ir::UnionAxes(axes, into->type()->axes);
  } else {
    into = gen.builder.Bits(info.accumulator, 0);
  }
  into = gen.builder.Broadcast(into, axes);
  ir::Type type = gen.builder.types().Tile(info.accumulator, std::move(axes));
  return gen.builder.Make(
      OpKind::Contraction, {operands.a, operands.b, into}, type,
      {ir::MakeAttr<ir::AttrKey::Axes>(over), ir::MakeAttr<ir::AttrKey::Acc>(info.accumulator),
       ir::MakeAttr<ir::AttrKey::Order>(ir::OrderKind::Open)});
}

Value* GenFold(FunctionGen& gen, ir::ReductionKind fold, Value* value, const ir::AxisList& over) {
  Scalar accumulator = value->type()->scalar;
  value = WithAxes(gen, value, over);
  ir::Type type = gen.builder.types().Tile(accumulator, ir::WithoutAxes(value->type()->axes, over));
  return gen.builder.Make(
      OpKind::Reduce, {value}, type,
      {ir::MakeAttr<ir::AttrKey::Reduction>(fold), ir::MakeAttr<ir::AttrKey::Axes>(over),
       ir::MakeAttr<ir::AttrKey::Acc>(accumulator),
       ir::MakeAttr<ir::AttrKey::Order>(ir::OrderKind::Open)});
}

/// Divides the sum by the number of elements that exist. If there are none, a mean of floats is NaN, and a
/// mean of integers traps because it divides by zero.
Value* GenMean(FunctionGen& gen, const sema::ReduceInfo& info, Value* sum, Span span) {
  ir::Builder& b = gen.builder;
  Value* count = b.I64(1);
  for (const sema::Entity* range : info.ranges) {
    Value* size = b.BlockSize(gen.blocks.at(range));
    count = b.Mul(count, size);
  }
  count = b.Cast(count, sum->type()->scalar);
  Value* mask = IsFloat(sum->type()->scalar) ? nullptr : gen.Mask();
  if (mask) count = b.Select(mask, count, b.Int(count->type()->scalar, 1));
  Value* mean = b.Div(sum, count);
  mean->def()->SetAttr(ir::MakeAttr<ir::AttrKey::Text>(gen.QuotedSource(span)));
  return mean;
}

/// Returns the smallest index at which the value is the extremum or, if any value is NaN, the smallest index
/// of a NaN. Returns -1 if there are no values. Floats are compared by their bits. Like the reduction, this
/// distinguishes -0.0 from 0.0, but not one NaN from another.
Value* GenArg(FunctionGen& gen, const sema::ReduceInfo& info, Value* value) {
  ir::Builder& b = gen.builder;
  ir::AxisList over = gen.RangeAxes(info.ranges);
  Value* extremum = GenFold(gen, ReductionKindOf(info.kind), value, over);
  bool is_float = IsFloat(value->type()->scalar);
  Value* wanted = is_float ? GenFloatBits(b, extremum) : extremum;
  Value* hit = b.Eq(is_float ? GenFloatBits(b, value) : value, wanted);
  ir::Type indices = b.types().Tile(Scalar::I64, over);
  Value* index = b.Make(OpKind::Iota, {gen.blocks.at(info.ranges[0])}, indices);
  Value* none = b.I64(std::numeric_limits<int64_t>::max());
  Value* first = GenFold(gen, ir::ReductionKind::Min, b.Select(hit, index, none), over);
  Value* is_none = b.Eq(first, none);
  return b.Select(is_none, b.I64(-1), first);
}

/// Returns the attributes of a scan other than its axis.
std::vector<ir::Attr> ScanAttrs(const sema::ReduceInfo& info) {
  auto walk = info.reversed ? ir::DirectionKind::Down : ir::DirectionKind::Up;
  auto keep = info.exclusive ? ir::KeepKind::Before : ir::KeepKind::After;
  return {ir::MakeAttr<ir::AttrKey::Direction>(walk), ir::MakeAttr<ir::AttrKey::Keep>(keep)};
}

/// Generates a `multi_reduce` or `scan` over tiles that all have the same axes. `step` computes the next
/// accumulators inside the region.
using Step = std::function<std::vector<Value*>(ir::Builder& b, const std::vector<Value*>& all)>;
std::vector<Value*> GenCombine(FunctionGen& gen, const sema::ReduceInfo& info, bool scans,
                               const std::vector<Value*>& values, const std::vector<Value*>& inits,
                               const Step& step) {
  ir::AxisList over = gen.RangeAxes(info.ranges);
  std::vector<ir::Type> types;
  std::vector<ir::Type> params;
  for (const Value* value : values) {
    params.push_back(gen.builder.types().ScalarOf(value->type()->scalar));
    const std::vector<ir::AxisId>& axes = value->type()->axes;
    types.push_back(gen.builder.types().Tile(value->type()->scalar,
                                             scans ? axes : ir::WithoutAxes(axes, over)));
  }
  std::vector<ir::Attr> attrs = scans ? ScanAttrs(info) : std::vector<ir::Attr>();
  attrs.push_back(ir::MakeAttr<ir::AttrKey::Axes>(over));
  ir::Op* op = gen.builder.Create(scans ? OpKind::Scan : OpKind::MultiReduce, {values, inits},
                                  std::move(types), std::move(attrs));
  ir::Builder inner(gen.module, op->region());
  inner.set_loc(gen.builder.loc());
  std::vector<Value*> all;
  for (int copy = 0; copy < 2; ++copy) {
    for (ir::Type type : params) all.push_back(inner.AddParam(op->region(), type, {}));
  }
  inner.Create(OpKind::Yield, {step(inner, all)}, {});
  return op->results();
}

/// Generates a scan, which is a reduction that also yields the accumulator at each element.
Value* GenScan(FunctionGen& gen, const sema::ReduceInfo& info, Value* value) {
  ir::ReductionKind fold = ReductionKindOf(info.kind);
  Scalar scalar = value->type()->scalar;
  Value* init = gen.builder.Bits(scalar, ir::FoldIdentity(fold, scalar));
  auto step = [&](ir::Builder& b, const std::vector<Value*>& all) -> std::vector<Value*> {
    return {b.Binary(ir::CombineOf(fold), all[0], all[1])};
  };
  return GenCombine(gen, info, true, {WithAxes(gen, value, gen.RangeAxes(info.ranges))}, {init},
                    step)[0];
}

/// Returns the operand (for a tuple, its elements), with all values broadcast to the same axes. If the fn may
/// trap, elements that must not be computed are replaced by the initial values. These are the identity of the
/// fn, so they do not change the result.
std::vector<Value*> GenFolded(FunctionGen& gen, const syntax::ReduceExpr& reduce,
                              const sema::CheckedFunction& callee, const ir::Function& fn,
                              const std::vector<Value*>& inits) {
  OperandGuards guards(gen, gen.RangeAxes(gen.Info(&reduce).reduce->ranges));
  std::vector<Value*> values = RoundedParts(gen, reduce.operands[0], callee.result);
  Value* mask = MayTrap(fn, gen.module) ? gen.Mask() : nullptr;
  ir::AxisList axes = gen.RangeAxes(gen.Info(&reduce).reduce->ranges);
  std::sort(axes.begin(), axes.end());
  for (size_t i = 0; i < values.size(); ++i) {
    if (mask) values[i] = gen.builder.Select(mask, values[i], inits[i]);
    axes = ir::UnionAxes(axes, values[i]->type()->axes);
  }
  for (Value*& value : values) value = gen.builder.Broadcast(value, axes);
  return values;
}

/// A reduction with a fn that combines whole tiles. In nested loops over the reduced ranges, the fn is called
/// for one tile after another.
struct TileFold {
  const sema::CheckedFunction& callee;
  const sema::CallInfo& bound;
  const std::vector<const sema::Entity*>& over;
  const std::vector<Value*>& values;
  Span span;
};

std::vector<Value*> GenTileIteration(FunctionGen& gen, const TileFold& fold,
                                     const std::vector<Value*>& before,
                                     const std::vector<Value*>& index) {
  std::vector<Value*> all = before;
  for (size_t i = 0; i < before.size(); ++i) {
    all.push_back(gen.builder
                      .Create(OpKind::Gather, {{fold.values[i]}, index, {}, {}},
                              {before[i]->type()},
                              {ir::MakeAttr<ir::AttrKey::Axes>(gen.RangeAxes(fold.over)),
                               ir::MakeAttr<ir::AttrKey::BoundsMode>(ir::BoundsMode::Proven),
                               ir::MakeAttr<ir::AttrKey::Text>(gen.QuotedSource(fold.span))})
                      ->result());
  }
  std::vector<Value*> after = GenCallOf(gen, fold.callee, fold.bound, all);
  for (size_t i = 0; i < after.size(); ++i)
    after[i] = Round(gen, after[i], before[i]->type()->scalar);
  return after;
}

std::vector<Value*> GenTileLoops(FunctionGen& gen, const TileFold& fold,
                                 const std::vector<Value*>& before, std::vector<Value*> index) {
  if (index.size() == fold.over.size()) return GenTileIteration(gen, fold, before, index);
  ir::Builder& b = gen.builder;
  Value* block = gen.blocks.at(fold.over[index.size()]);
  Value* lo = b.BlockStart(block);
  Value* hi = b.Add(lo, b.BlockSize(block));
  ir::Op* loop = b.Create(OpKind::Loop, {{lo}, {hi}, {b.I64(1)}, before}, ValueTypes(before));
  index.push_back(b.AddParam(loop->region(), b.I64Type(), {}));
  std::vector<Value*> carried;
  for (const Value* value : before)
    carried.push_back(b.AddParam(loop->region(), value->type(), {}));
  b.SetInsertionPoint(loop->region());
  std::vector<Value*> after = GenTileLoops(gen, fold, carried, std::move(index));
  b.Create(OpKind::Yield, {after}, {});
  b.SetInsertionPoint(loop->parent_region(), loop->next());
  return loop->results();
}

std::vector<Value*> GenTileFold(FunctionGen& gen, const TileFold& fold, std::vector<Value*> inits) {
  ir::AxisList over = gen.RangeAxes(fold.over);
  for (size_t i = 0; i < inits.size(); ++i)
    inits[i] = gen.builder.Broadcast(inits[i], ir::WithoutAxes(fold.values[i]->type()->axes, over));
  return GenTileLoops(gen, fold, inits, {});
}

}  // namespace

namespace {

/// Generates a reduction or scan with a builtin operator other than `dot`.
Value* GenBuiltinFold(FunctionGen& gen, const syntax::ReduceExpr& reduce) {
  const sema::ReduceInfo& info = *gen.Info(&reduce).reduce;
  ir::AxisList over = gen.RangeAxes(info.ranges);
  // Narrow floats are widened and reduced in f32. For max and min, this is exact. For sum and prod, f32 is
  // the accumulator that the language defines.
  Scalar accumulator = IsNarrowFloat(info.accumulator) ? Scalar::F32 : info.accumulator;
  Value* value = nullptr;
  {
    OperandGuards guards(gen, over);
    value = gen.builder.Cast(GenExpr(gen, reduce.operands[0]), accumulator);
  }
  switch (info.kind) {
    case sema::ReduceKind::ArgMax:
    case sema::ReduceKind::ArgMin:
      return GenArg(gen, info, value);
    case sema::ReduceKind::CumSum:
    case sema::ReduceKind::CumProd:
    case sema::ReduceKind::CumMax:
      return GenScan(gen, info, value);
    default:
      break;
  }
  Value* folded = GenFold(gen, ReductionKindOf(info.kind), value, gen.RangeAxes(info.ranges));
  bool mean = info.kind == sema::ReduceKind::Mean;
  return mean ? GenMean(gen, info, folded, reduce.span) : folded;
}

}  // namespace

Value* GenReduce(FunctionGen& gen, const syntax::ReduceExpr& reduce) {
  if (gen.contract) return GenContractFold(gen, reduce)[0];
  const sema::ExprInfo& info = gen.Info(&reduce);
  if (info.reduce->kind == sema::ReduceKind::Dot) return GenContraction(gen, reduce, nullptr);
  if (info.callee) return GenUserFold(gen, reduce)[0];
  Value* folded = GenBuiltinFold(gen, reduce);
  if (reduce.appends) folded->def()->SetAttr(ir::MakeAttr<ir::AttrKey::Append>(1));
  return folded;
}

std::vector<Value*> GenUserFold(FunctionGen& gen, const syntax::ReduceExpr& reduce) {
  if (gen.contract) return GenContractFold(gen, reduce);
  const sema::ExprInfo& info = gen.Info(&reduce);
  const sema::CheckedFunction& callee = *info.callee;
  Name name = gen.module.context().names.Intern(callee.InstanceName());
  const ir::Function* fn = gen.module.FindFunction(name);
  KDL_CHECK(fn, "fn '{}' was not generated before its caller", name.text());
  std::vector<Value*> inits = RoundedParts(gen, reduce.init, callee.result);
  std::vector<Value*> values = GenFolded(gen, reduce, callee, *fn, inits);
  if (!callee.ranges.empty()) {
    std::vector<Value*> last =
        GenTileFold(gen, {callee, *info.call, info.reduce->ranges, values, reduce.span}, inits);
    for (Value*& part : last) part = Widen(gen, part);
    return last;
  }
  auto call = [&](ir::Builder& b, const std::vector<Value*>& all) {
    return b
        .Create(OpKind::Call, {all, {}}, fn->results, {ir::MakeAttr<ir::AttrKey::Callee>(name)})
        ->results();
  };
  bool scans = info.reduce->kind == sema::ReduceKind::Scan;
  std::vector<Value*> folded = GenCombine(gen, *info.reduce, scans, values, inits, call);
  for (Value*& part : folded) part = Widen(gen, part);
  return folded;
}

Value* GenContractInto(FunctionGen& gen, const syntax::ReduceExpr& dot, Value* into) {
  return GenContraction(gen, dot, into);
}

}  // namespace kdl::irgen
