#include <algorithm>
#include <set>

#include "ir/eval.h"
#include "irgen/carried.h"
#include "irgen/contract_gen.h"
#include "sema/ast_walk.h"
#include "support/check.h"

// Reductions of a contract: loops over elements, one term at a time. A value that few of the names around decide is kept in a
// table of the run, and a scan fills a whole row of its table.

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;
using sema::ReduceKind;
using syntax::ReduceExpr;
using Values = std::vector<Value*>;

bool IsScan(const sema::ReduceInfo& info) { return info.kind >= ReduceKind::CumSum; }

/// The names that decide the expression's value: those that no reduction inside binds.
std::set<const sema::Entity*> FreeIn(const FunctionGen& gen, const syntax::Expr* expr) {
  std::set<const sema::Entity*> free;
  auto known = gen.checked.exprs.find(expr);
  const sema::ExprInfo* info = known == gen.checked.exprs.end() ? nullptr : &known->second;
  if (info && info->entity && info->entity->kind == sema::EntityKind::Range)
    free.insert(info->entity);
  if (info && info->index) {
    for (const sema::IndexDim& dim : info->index->dims) {
      for (const sema::IndexTerm& term : dim.terms) {
        if (term.range) free.insert(term.range);
      }
    }
  }
  sema::ForEachChild(expr, [&](const syntax::Expr* child) { free.merge(FreeIn(gen, child)); });
  if (!info || !info->reduce) return free;
  for (const sema::Entity* range : info->reduce->ranges) {
    free.erase(range);
    if (IsScan(*info->reduce)) free.insert(range);
  }
  return free;
}

IndexNames InOrder(const std::set<const sema::Entity*>& names) {
  IndexNames sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->number < b->number; });
  return sorted;
}

Size ExtentOf(const FunctionGen& gen, const sema::Entity* name) {
  return gen.Bound(name->range.domain);
}

/// How many values the names have together.
Size CountOf(const FunctionGen& gen, const IndexNames& names) {
  SizeTable& sizes = gen.builder.types().sizes();
  Size count = sizes.Constant(1);
  for (const sema::Entity* name : names)
    count = sizes.Binary(SizeKind::Mul, count, ExtentOf(gen, name));
  return count;
}

/// What a fold starts from, how it takes in the term at the present names, and what it then gives.
struct Folding {
  Values inits;
  std::function<Values(const Values& accumulators)> step;
  std::function<Value*(const Values& accumulators)> result = {};  ///< none: the accumulators
  bool is_sum = false;                                            ///< of floats
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

/// The place of the first of the largest, where a NaN is larger than all; -1: there is none.
Folding FoldingArg(FunctionGen& gen, const ReduceExpr& reduce, const sema::ReduceInfo& info) {
  ir::Builder& b = gen.builder;
  Scalar scalar = gen.Made(gen.Info(reduce.operands[0]).type.scalar);
  bool largest = info.kind == ReduceKind::ArgMax;
  Folding folding;
  folding.inits = {b.I64(-1), b.Bits(scalar, ir::FoldIdentity(FoldOf(info.kind), scalar))};
  folding.step = [&gen, &b, &reduce, &info, scalar, largest](const Values& accumulators) -> Values {
    Value* best = accumulators[1];
    Value* term = b.Cast(GenExpr(gen, reduce.operands[0]), scalar);
    Value* better = b.Binary(largest ? OpKind::Gt : OpKind::Lt, term, best);
    if (IsFloat(scalar)) {
      better = b.Binary(OpKind::Or, better, b.Binary(OpKind::Ne, term, term));
      better = b.Binary(OpKind::And, better, b.Binary(OpKind::Eq, best, best));
    }
    better = b.Binary(OpKind::Or, better, b.Binary(OpKind::Lt, accumulators[0], b.I64(0)));
    Value* index = gen.values.at(info.ranges.back());
    return {b.Select(better, index, accumulators[0]), b.Select(better, term, best)};
  };
  folding.result = [](const Values& accumulators) { return accumulators[0]; };
  return folding;
}

/// The sum by the number of terms; of integers rounded down, and 0 of nothing, which no kernel survives.
Value* MeanOf(FunctionGen& gen, const sema::ReduceInfo& info, Value* sum) {
  ir::Builder& b = gen.builder;
  Scalar scalar = sum->type()->scalar;
  Value* count = GenExactSize(gen, CountOf(gen, info.ranges), scalar);
  if (IsFloat(scalar)) return b.Binary(OpKind::Div, sum, count);
  Value* none = b.Binary(OpKind::Eq, count, b.Int(scalar, 0));
  return b.Binary(OpKind::Div, sum, b.Select(none, b.Int(scalar, 1), count));
}

Folding FoldingOf(FunctionGen& gen, const ReduceExpr& reduce) {
  const sema::ReduceInfo& info = *gen.Info(&reduce).reduce;
  if (gen.Info(&reduce).callee) return FoldingWith(gen, reduce, *gen.Info(&reduce).callee);
  if (info.kind == ReduceKind::ArgMax || info.kind == ReduceKind::ArgMin)
    return FoldingArg(gen, reduce, info);
  bool is_dot = info.kind == ReduceKind::Dot;
  ir::FoldKind fold = is_dot ? ir::FoldKind::Sum : FoldOf(info.kind);
  Scalar scalar = gen.Made(gen.Info(reduce.operands[0]).type.scalar);
  Folding folding;
  folding.inits = {gen.builder.Bits(scalar, ir::FoldIdentity(fold, scalar))};
  folding.is_sum = fold == ir::FoldKind::Sum && IsFloat(scalar);
  folding.step = [&gen, &reduce, is_dot, fold, scalar](const Values& accumulators) -> Values {
    Value* term = gen.builder.Cast(GenExpr(gen, reduce.operands[0]), scalar);
    if (is_dot) {
      Value* other = gen.builder.Cast(GenExpr(gen, reduce.operands[1]), scalar);
      term = gen.builder.Binary(OpKind::Mul, term, other);
    }
    return {gen.builder.Binary(ir::CombineOf(fold), accumulators[0], term)};
  };
  if (info.kind == ReduceKind::Mean)
    folding.result = [&gen, &info](const Values& sum) { return MeanOf(gen, info, sum[0]); };
  return folding;
}

/// `body` gives the next accumulators, for each value of the name.
Values GenLoop(FunctionGen& gen, const sema::Entity* name, const Folding& folding,
               const Values& accumulators,
               const std::function<Values(Value* index, const Values&)>& body) {
  ir::Builder& b = gen.builder;
  std::vector<ir::Attr> attrs;
  if (folding.is_sum) attrs.push_back(ir::MakeAttr<ir::AttrKey::Fold>(ir::FoldKind::Sum));
  ir::Op* op = b.Create(OpKind::Loop,
                        {{b.I64(0)}, {GenSize(gen, ExtentOf(gen, name))}, {b.I64(1)}, accumulators},
                        TypesOf(accumulators), std::move(attrs));
  Value* index = b.AddParam(op->region(), b.types().ScalarOf(Scalar::I64), name->name);
  Values params;
  for (const Value* value : accumulators)
    params.push_back(b.AddParam(op->region(), value->type(), Name()));
  b.SetInsertionPoint(op->region());
  auto around = gen.values.find(name);
  Value* before = around == gen.values.end() ? nullptr : around->second;
  gen.values[name] = index;
  b.Create(OpKind::Yield, {body(index, params)}, {});
  if (before) gen.values[name] = before;
  b.SetInsertionPoint(op->block());
  return op->results();
}

Values GenAll(FunctionGen& gen, const IndexNames& ranges, size_t depth, const Folding& folding,
              const Values& accumulators) {
  if (depth == ranges.size()) return folding.step(accumulators);
  return GenLoop(gen, ranges[depth], folding, accumulators, [&](Value*, const Values& inner) {
    return GenAll(gen, ranges, depth + 1, folding, inner);
  });
}

/// One reduction, and where its values are kept.
struct Kept {
  IndexNames names;
  Value* known = nullptr;
  Values tables;
};

Kept AddTables(FunctionGen& gen, const IndexNames& names, const std::vector<Scalar>& types,
               ir::ContractInput input) {
  ir::TypeTable& table = gen.builder.types();
  Names& texts = gen.module.context().names;
  std::vector<Size> dims;
  for (const sema::Entity* name : names) dims.push_back(ExtentOf(gen, name));
  if (dims.empty()) dims.push_back(table.sizes().Constant(1));
  Kept kept{names, nullptr, {}};
  ir::ContractParam param{input};
  kept.known =
      AddContractParam(gen, table.Tensor(Scalar::Bool, dims), texts.Intern("known"), param);
  for (Scalar type : types)
    kept.tables.push_back(
        AddContractParam(gen, table.Tensor(type, dims), texts.Intern("kept"), param));
  return kept;
}

/// The place in the tables for the present values of the names.
sema::IndexInfo PlaceOf(const FunctionGen& gen, const Kept& kept) {
  SizeTable& sizes = gen.builder.types().sizes();
  sema::IndexInfo place;
  for (const sema::Entity* name : kept.names)
    place.dims.push_back({{{sizes.Constant(1), name, nullptr}}, sizes.Constant(0), {}});
  if (kept.names.empty()) place.dims.push_back({{}, sizes.Constant(0), {}});
  return place;
}

Values LoadKept(FunctionGen& gen, const Kept& kept) {
  Values values;
  for (Value* table : kept.tables)
    values.push_back(GenElement(gen, table, PlaceOf(gen, kept), nullptr, {}));
  return values;
}

void StoreKept(FunctionGen& gen, const Kept& kept, const Values& values) {
  sema::IndexInfo place = PlaceOf(gen, kept);
  for (size_t i = 0; i < values.size(); ++i) GenElementStore(gen, values[i], kept.tables[i], place);
  GenElementStore(gen, gen.builder.Bool(true), kept.known, place);
}

/// Fills the row of a scan along its one name.
void FillRow(FunctionGen& gen, const ReduceExpr& reduce, const Folding& folding, const Kept& kept,
             const std::vector<Scalar>& types) {
  const sema::ReduceInfo& info = *gen.Info(&reduce).reduce;
  const sema::Entity* name = info.ranges[0];
  auto turn = [&](Value* index, const Values& before) {
    ir::Builder& b = gen.builder;
    if (info.reversed) {
      Value* last = b.Binary(OpKind::Sub, GenSize(gen, ExtentOf(gen, name)), b.I64(1));
      gen.values[name] = b.Binary(OpKind::Sub, last, index);
    }
    Values after = folding.step(before);
    StoreKept(gen, kept, CastParts(gen, info.exclusive ? before : after, types));
    return after;
  };
  GenLoop(gen, name, folding, folding.inits, turn);
}

/// What the fold gives for the present names, as the expression has it.
Values GenFolded(FunctionGen& gen, const sema::ReduceInfo& info, const Folding& folding,
                 const std::vector<Scalar>& types) {
  Values values = GenAll(gen, info.ranges, 0, folding, folding.inits);
  if (folding.result) values = {folding.result(values)};
  return CastParts(gen, values, types);
}

Values GenScan(FunctionGen& gen, const ReduceExpr& reduce, const IndexNames& free,
               const std::vector<Scalar>& types) {
  Kept kept = AddTables(gen, free, types, ir::ContractInput::Kept);
  Value* known = GenElement(gen, kept.known, PlaceOf(gen, kept), nullptr, {});
  return GenChoice(
      gen, known, types, [&] { return LoadKept(gen, kept); },
      [&] {
        FillRow(gen, reduce, FoldingOf(gen, reduce), kept, types);
        return LoadKept(gen, kept);
      });
}

/// A table that would be too large is empty: nothing is known, and nothing is stored.
Values GenKept(FunctionGen& gen, const ReduceExpr& reduce, const IndexNames& free,
               const std::vector<Scalar>& types) {
  ir::Builder& b = gen.builder;
  Kept kept = AddTables(gen, free, types, ir::ContractInput::KeptSmall);
  Value* known = GenElement(gen, kept.known, PlaceOf(gen, kept), b.Bool(false), {});
  auto make = [&] {
    Values made = GenFolded(gen, *gen.Info(&reduce).reduce, FoldingOf(gen, reduce), types);
    Value* fits = b.Binary(OpKind::Le, GenSize(gen, CountOf(gen, free)), b.I64(ir::kMostKept));
    auto store = [&] {
      StoreKept(gen, kept, made);
      return Values();
    };
    GenChoice(gen, fits, {}, store, [] { return Values(); });
    return made;
  };
  return GenChoice(gen, known, types, [&] { return LoadKept(gen, kept); }, make);
}

}  // namespace

Values GenContractFold(FunctionGen& gen, const ReduceExpr& reduce) {
  ContractScope& scope = *gen.contract;
  const sema::ReduceInfo& info = *gen.Info(&reduce).reduce;
  std::vector<Scalar> types = MadeParts(gen, gen.Info(&reduce).type);
  std::set<const sema::Entity*> free = FreeIn(gen, &reduce);
  std::set<const sema::Entity*> walked = free;
  walked.insert(info.ranges.begin(), info.ranges.end());
  scope.clause.terms.push_back(CountOf(gen, InOrder(walked)));
  scope.clause.folded.push_back(CountOf(gen, info.ranges));
  bool again = IsScan(info) || free.size() < scope.around.size();

  IndexNames around = scope.around;
  for (const sema::Entity* range : info.ranges) {
    if (std::find(around.begin(), around.end(), range) == around.end())
      scope.around.push_back(range);
  }
  Values values;
  if (!again) {
    values = GenFolded(gen, info, FoldingOf(gen, reduce), types);
  } else {
    values = IsScan(info) ? GenScan(gen, reduce, InOrder(free), types)
                          : GenKept(gen, reduce, InOrder(free), types);
  }
  scope.around = std::move(around);
  return values;
}

}  // namespace kdl::irgen
