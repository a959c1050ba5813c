#include "irgen/contracts/folds.h"

#include <algorithm>

#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "irgen/contracts/parts.h"
#include "irgen/contracts/values.h"
#include "irgen/walk/fold_kinds.h"
#include "irgen/walk/generate.h"

// Reductions in a contract become loops that add one term in each iteration. If the result depends on only
// some of the enclosing index names, it is computed once for each combination of their values. A scan fills a
// whole row of a table.

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;
using sema::ReduceKind;
using syntax::ReduceExpr;
using Values = std::vector<Value*>;

bool IsScan(const sema::ReduceInfo& info) { return info.kind >= ReduceKind::CumSum; }

/// The parts of a reduction: its initial accumulators, the step that adds the term for the current index
/// values, and the computation of its result.
struct Folding {
  Values inits;
  std::function<Values(const Values& accumulators)> step;
  /// Computes the result from the accumulators. If empty, the accumulators are the result.
  std::function<Value*(const Values& accumulators)> result = {};
  bool is_sum = false;  ///< true for a sum of floats
};

Folding FoldingWith(FunctionGen& gen, const ReduceExpr& reduce,
                    const sema::CheckedFunction& callee) {
  Folding folding;
  std::vector<Scalar> types = MadeParts(gen, callee.result);
  folding.inits = CastParts(gen, GenParts(gen, reduce.init), types);
  folding.step = [&gen, &reduce, &callee](const Values& accumulators) {
    Values arguments = accumulators;
    Values term = GenParts(gen, reduce.operands[0]);
    arguments.insert(arguments.end(), term.begin(), term.end());
    return GenInlined(gen, callee, arguments, {});
  };
  return folding;
}

/// Returns the parts of an argmax (or argmin), whose result is the index of the first largest (or smallest)
/// term, or -1 if there are no terms. NaN counts as larger (or smaller) than all other values, and 0.0 as
/// larger than -0.0.
Folding FoldingArg(FunctionGen& gen, const ReduceExpr& reduce, const sema::ReduceInfo& info) {
  ir::Builder& b = gen.builder;
  Scalar scalar = gen.Made(gen.Info(reduce.operands[0]).type.scalar);
  bool largest = info.kind == ReduceKind::ArgMax;
  Folding folding;
  folding.inits = {b.I64(-1), b.Bits(scalar, ir::FoldIdentity(ReductionKindOf(info.kind), scalar))};
  folding.step = [&gen, &b, &reduce, &info, scalar, largest](const Values& accumulators) -> Values {
    Value* best = accumulators[1];
    Value* term = b.Cast(GenExpr(gen, reduce.operands[0]), scalar);
    OpKind compare = largest ? OpKind::Gt : OpKind::Lt;
    Value* better = b.Binary(compare, term, best);
    if (IsFloat(scalar)) {
      Value* bits = GenFloatBits(b, best);
      Value* other_zero = b.Binary(compare, GenFloatBits(b, term), bits);
      better = b.Or(better, b.And(b.Eq(term, best), other_zero));
      better = b.Or(better, b.Ne(term, term));
      better = b.And(better, b.Eq(best, best));
    }
    better = b.Or(better, b.Lt(accumulators[0], b.I64(0)));
    Value* index = gen.values.at(info.ranges.back());
    return {b.Select(better, index, accumulators[0]), b.Select(better, term, best)};
  };
  folding.result = [](const Values& accumulators) { return accumulators[0]; };
  return folding;
}

/// Returns the sum divided by the number of terms. A mean of integers is rounded down. If there are no terms,
/// it is 0, although a kernel would trap.
Value* MeanOf(FunctionGen& gen, const sema::ReduceInfo& info, Value* sum) {
  ir::Builder& b = gen.builder;
  Scalar scalar = sum->type()->scalar;
  Value* count = GenExactSize(gen, CombinationCount(gen, info.ranges), scalar);
  if (IsFloat(scalar)) return b.Div(sum, count);
  Value* none = b.Eq(count, b.Int(scalar, 0));
  return b.Div(sum, b.Select(none, b.Int(scalar, 1), count));
}

Folding FoldingOf(FunctionGen& gen, const ReduceExpr& reduce) {
  const sema::ReduceInfo& info = *gen.Info(&reduce).reduce;
  if (gen.Info(&reduce).callee) return FoldingWith(gen, reduce, *gen.Info(&reduce).callee);
  if (info.kind == ReduceKind::ArgMax || info.kind == ReduceKind::ArgMin)
    return FoldingArg(gen, reduce, info);
  bool is_dot = info.kind == ReduceKind::Dot;
  ir::ReductionKind fold = is_dot ? ir::ReductionKind::Sum : ReductionKindOf(info.kind);
  Scalar scalar = gen.Made(gen.Info(&reduce).type.scalar);
  Folding folding;
  folding.inits = {gen.builder.Bits(scalar, ir::FoldIdentity(fold, scalar))};
  folding.is_sum = fold == ir::ReductionKind::Sum && IsFloat(scalar);
  folding.step = [&gen, &reduce, is_dot, fold, scalar](const Values& accumulators) -> Values {
    Value* term = gen.builder.Cast(GenExpr(gen, reduce.operands[0]), scalar);
    if (is_dot) {
      Value* other = gen.builder.Cast(GenExpr(gen, reduce.operands[1]), scalar);
      term = gen.builder.Mul(term, other);
    }
    return {gen.builder.Binary(ir::CombineOf(fold), accumulators[0], term)};
  };
  if (info.kind == ReduceKind::Mean)
    folding.result = [&gen, &info](const Values& sum) { return MeanOf(gen, info, sum[0]); };
  return folding;
}

Values GenAll(FunctionGen& gen, const IndexNames& ranges, size_t depth, const Folding& folding,
              const Values& accumulators) {
  if (depth == ranges.size()) return folding.step(accumulators);
  auto iteration = [&](Value*, const Values& inner) {
    return GenAll(gen, ranges, depth + 1, folding, inner);
  };
  return GenLoopOver(gen, ranges[depth], folding.is_sum, accumulators, iteration);
}

/// Fills a row of a scan's table. The row extends along the scan's only index name.
void FillRow(FunctionGen& gen, const ReduceExpr& reduce, const Kept& kept,
             const std::vector<Scalar>& types) {
  const sema::ReduceInfo& info = *gen.Info(&reduce).reduce;
  const sema::Entity* name = info.ranges[0];
  Folding folding = FoldingOf(gen, reduce);
  auto iteration = [&](Value* index, const Values& before) {
    ir::Builder& b = gen.builder;
    if (info.reversed) {
      Value* last = b.Sub(GenSize(gen, NameExtent(gen, name)), b.I64(1));
      gen.values[name] = b.Sub(last, index);
    }
    Values after = folding.step(before);
    StoreKept(gen, kept, CastParts(gen, info.exclusive ? before : after, types));
    return after;
  };
  GenLoopOver(gen, name, folding.is_sum, folding.inits, iteration);
}

/// Returns the result of the reduction for the current index values, converted to `types`.
Values GenFolded(FunctionGen& gen, const ReduceExpr& reduce, const std::vector<Scalar>& types) {
  Folding folding = FoldingOf(gen, reduce);
  Values values = GenAll(gen, gen.Info(&reduce).reduce->ranges, 0, folding, folding.inits);
  if (folding.result) values = {folding.result(values)};
  return CastParts(gen, values, types);
}

void CountTerms(FunctionGen& gen, const ReduceExpr& reduce) {
  const sema::ReduceInfo& info = *gen.Info(&reduce).reduce;
  IndexNames walked = gen.Info(&reduce).type.ranges;
  if (!IsScan(info)) walked.insert(walked.end(), info.ranges.begin(), info.ranges.end());
  gen.contract->clause.terms.push_back(CombinationCount(gen, walked));
  gen.contract->clause.folded.push_back(CombinationCount(gen, info.ranges));
}

}  // namespace

void GenFoldRow(FunctionGen& gen, const ReduceExpr& reduce, const Kept& kept) {
  std::vector<Scalar> types = MadeParts(gen, gen.Info(&reduce).type);
  CountTerms(gen, reduce);
  if (IsScan(*gen.Info(&reduce).reduce)) return FillRow(gen, reduce, kept, types);
  StoreKept(gen, kept, GenFolded(gen, reduce, types));
}

IndexNames FoldRowNames(const sema::ReduceInfo& info) {
  return IsScan(info) ? info.ranges : IndexNames();
}

Values GenFoldOnce(FunctionGen& gen, const ReduceExpr& reduce) {
  const sema::ReduceInfo& info = *gen.Info(&reduce).reduce;
  std::vector<Scalar> types = MadeParts(gen, gen.Info(&reduce).type);
  IndexNames free = InOrder(gen.Info(&reduce).type.ranges);
  CountTerms(gen, reduce);
  bool is_new = free.size() == gen.contract->around.size();
  AroundScope around(gen, info.ranges);
  auto fill = [&](const Kept& kept) { FillRow(gen, reduce, kept, types); };
  auto make = [&] { return GenFolded(gen, reduce, types); };
  if (IsScan(info)) return GenFilledOnce(gen, free, types, fill);
  return is_new ? make() : GenOnce(gen, free, types, make);
}

}  // namespace kdl::irgen
