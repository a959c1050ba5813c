#include "irgen/statements/loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_kind.h"
#include "irgen/programs/checkpoints.h"
#include "irgen/statements/flow.h"
#include "irgen/statements/loop_bounds.h"
#include "irgen/walk/carried.h"
#include "irgen/walk/generate.h"
#include "irgen/walk/sizes.h"
#include "sema/model/ast_walk.h"
#include "support/check.h"

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;

/// Adds a region parameter for a loop variable: a block if the loop iterates over blocks of a range,
/// otherwise an index.
void AddBinder(FunctionGen& gen, ir::Region* region, const sema::Entity* binder) {
  ir::TypeTable& types = gen.builder.types();
  if (binder->kind == sema::EntityKind::Range) {
    gen.blocks[binder] =
        gen.builder.AddParam(region, types.Block(gen.RangeAxis(binder)), binder->name);
  } else {
    gen.values[binder] = gen.builder.AddParam(region, types.ScalarOf(Scalar::I64), binder->name);
  }
}

/// Returns a name that no other domain of the function has, because spmds whose domains have the same name
/// must use the same block order.
Name DomainName(FunctionGen& gen, const sema::Entity* domain) {
  int before = 0;
  for (const sema::Entity* entity : gen.checked.entities) {
    bool same = entity->kind == sema::EntityKind::Domain && entity->name == domain->name;
    before += same && entity->number < domain->number ? 1 : 0;
  }
  if (before == 0) return domain->name;
  return gen.module.context().names.Intern(fmt::format("{}.{}", domain->name.text(), before));
}

/// Adds the attribute for `@pipelined`, if the loop has this annotation.
void AddAhead(FunctionGen& gen, const syntax::ForStmt& loop, std::vector<ir::Attr>& attrs) {
  int64_t ahead = gen.checked.Info(&loop).ahead;
  if (ahead > 0) attrs.push_back(ir::MakeAttr<ir::AttrKey::Ahead>(ahead));
}

/// Generates nested loops for a `for` with several loop variables. The leftmost variable becomes the
/// outermost loop. All loops carry the same vars.
void GenLoopNest(FunctionGen& gen, const syntax::ForStmt& loop, const Vars& binders, size_t depth,
                 const Vars& vars) {
  if (depth == binders.size()) return GenIteration(gen, *loop.body);
  const sema::Entity* binder = binders[depth];
  LoopBounds bounds = GenLoopBounds(gen, binder);
  if (depth == 0) GenRestore(gen, *loop.body, binder->hi, binder, &bounds);
  std::vector<Value*> inits = Present(gen, vars);
  std::vector<ir::Attr> attrs;
  if (gen.loops.back().stays) attrs.push_back(ir::MakeAttr<ir::AttrKey::Breaks>(1));
  AddAhead(gen, loop, attrs);
  ir::Op* op;
  if (binder->kind == sema::EntityKind::Range) {
    op = gen.builder.Create(OpKind::For, {{bounds.lo}, {bounds.hi}, inits}, ValueTypes(inits),
                            std::move(attrs));
  } else {
    Value* step = bounds.step ? bounds.step : gen.builder.I64(1);
    op = gen.builder.Create(OpKind::Loop, {{bounds.lo}, {bounds.hi}, {step}, inits},
                            ValueTypes(inits), std::move(attrs));
  }
  AddBinder(gen, op->region(), binder);
  CarryInto(gen, op->region(), vars, inits);
  gen.builder.SetInsertionPoint(op->region());
  GenSizeName(gen, binder);
  GenLoopNest(gen, loop, binders, depth + 1, vars);
  Yield(gen, vars);
  gen.builder.SetInsertionPoint(op->parent_region());
  TakeResults(gen, vars, op);
}

/// Generates an assertion that the step is positive, and returns the step. The step is clamped in two ways
/// that do not change the iterations. The max makes it obvious to proofs that the step is positive. The min
/// limits the step to the distance from lo to hi, so that multiples of the step do not wrap: a larger step
/// also gives a single iteration.
Value* PositiveStep(FunctionGen& gen, const LoopBounds& bounds, const sema::Entity* binder) {
  Value* step = bounds.step;
  if (step->def() && step->def()->kind() == OpKind::Const) return step;
  ir::Builder& b = gen.builder;
  Value* positive = b.Gt(step, b.I64(0));
  std::string text = fmt::format("the step of '{}' is positive", binder->name.text());
  b.Create(OpKind::Assert, {{positive}, {}}, {},
           {ir::MakeAttr<ir::AttrKey::Text>(gen.module.context().names.Intern(text))});
  Value* way = b.Max(b.Sub(bounds.hi, bounds.lo), b.I64(1));
  return b.Min(b.Max(step, b.I64(1)), way);
}

/// Returns the number of iterations, as an i64, of a loop over single indices with a step.
Value* GenIterationCount(FunctionGen& gen, const LoopBounds& bounds) {
  ir::Builder& b = gen.builder;
  // The distance fits in a u64 if there is at least one iteration.
  Value* one = b.Int(Scalar::U64, 1);
  Value* distance = b.Cast(b.Sub(bounds.hi, bounds.lo), Scalar::U64);
  Value* before_last = b.Sub(distance, one);
  Value* last = b.Div(before_last, b.Cast(bounds.step, Scalar::U64));
  Value* count = b.Cast(b.Add(last, one), Scalar::I64);
  Value* has_any = b.Lt(bounds.lo, bounds.hi);
  return b.Select(has_any, count, b.I64(0));
}

/// Returns whether a bound of the loop variable uses one of the variables `others`, which must come before
/// it.
bool UsesAny(const FunctionGen& gen, const sema::Entity* binder, const Vars& others) {
  auto is_other = [&](const sema::Entity* entity) {
    return std::find(others.begin(), others.end(), entity) != others.end();
  };
  if (binder->range.parent && is_other(binder->range.parent)) return true;
  for (const syntax::Expr* bound :
       {binder->range.lo, binder->range.hi, binder->lo, binder->hi, binder->step}) {
    if (bound && sema::AnySubexpression(bound, [&](const syntax::Expr* inner) {
          auto info = gen.checked.exprs.find(inner);
          return info != gen.checked.exprs.end() && is_other(info->second.entity);
        }))
      return true;
  }
  return false;
}

/// Separates the variables of an `spmd` whose blocks are distributed over cores from those whose bounds
/// depend on other variables. The latter become inner loops, which the core that executes the outer block
/// runs completely.
void PartBinders(const FunctionGen& gen, const Vars& binders, Vars& distributed, Vars& inner) {
  Vars before;
  for (const sema::Entity* binder : binders) {
    (UsesAny(gen, binder, before) ? inner : distributed).push_back(binder);
    before.push_back(binder);
  }
}

/// A loop variable whose blocks are distributed over cores. If the loop has a step, the iteration numbers are
/// distributed instead.
struct DistributedBinder {
  const sema::Entity* entity;
  LoopBounds bounds;
};

std::vector<DistributedBinder> DistributedBounds(FunctionGen& gen, const Vars& distributed,
                                                 std::vector<Value*>& bounds) {
  std::vector<DistributedBinder> all;
  for (const sema::Entity* binder : distributed) {
    LoopBounds b = GenLoopBounds(gen, binder);
    if (b.step) b.step = PositiveStep(gen, b, binder);
    all.push_back({binder, b});
    if (b.step) b = {gen.builder.I64(0), GenIterationCount(gen, b), nullptr};
    bounds.push_back(b.lo);
    bounds.push_back(b.hi);
  }
  return all;
}

void BindDistributed(FunctionGen& gen, ir::Region* region,
                     const std::vector<DistributedBinder>& distributed) {
  for (const DistributedBinder& binder : distributed) AddBinder(gen, region, binder.entity);
  gen.builder.SetInsertionPoint(region);
  for (const auto& [entity, bounds] : distributed) {
    if (!bounds.step) continue;
    Value* offset = gen.builder.Mul(gen.values.at(entity), bounds.step);
    gen.values[entity] = gen.builder.Add(bounds.lo, offset);
    gen.values[entity]->set_name(entity->name);
  }
}

void GenSpmd(FunctionGen& gen, const syntax::ForStmt& loop, const Vars& binders) {
  Vars distributed;
  Vars inner;
  PartBinders(gen, binders, distributed, inner);
  std::vector<Value*> bounds;
  std::vector<DistributedBinder> walked = DistributedBounds(gen, distributed, bounds);
  const sema::StmtInfo& info = gen.checked.Info(&loop);
  ir::DistributionKind distribute = info.is_grouped   ? ir::DistributionKind::Grouped
                                    : info.is_dynamic ? ir::DistributionKind::Dynamic
                                                      : ir::DistributionKind::Static;
  std::vector<ir::Attr> attrs = {ir::MakeAttr<ir::AttrKey::Distribute>(distribute)};
  if (const sema::Entity* domain = binders[0]->of)
    attrs.push_back(ir::MakeAttr<ir::AttrKey::Domain>(DomainName(gen, domain)));
  AddAhead(gen, loop, attrs);
  ir::Op* op = gen.builder.Create(OpKind::Spmd, {bounds}, {}, std::move(attrs));
  BindDistributed(gen, op->region(), walked);
  OpenLoop(gen, *loop.body);
  GenLoopNest(gen, loop, inner, 0, {});
  CloseLoop(gen);
  Yield(gen, {});
  gen.builder.SetInsertionPoint(op->parent_region());
}

/// Generates an `if` in a fn that may be applied to each element of a tile. Both branches are evaluated, and
/// each assignment selects between the old and the new value.
void GenMaskedIf(FunctionGen& gen, const syntax::IfStmt& branch, Value* condition) {
  gen.guards.push_back({condition, false});
  GenBlock(gen, *branch.then_block);
  gen.guards.back() = {condition, true};
  if (const auto* block = syntax::DynAs<syntax::BlockStmt>(branch.else_stmt)) GenBlock(gen, *block);
  if (const auto* chained = syntax::DynAs<syntax::IfStmt>(branch.else_stmt)) GenIf(gen, *chained);
  gen.guards.pop_back();
}

void GenBranch(FunctionGen& gen, const syntax::Stmt* stmt) {
  if (const auto* block = syntax::DynAs<syntax::BlockStmt>(stmt)) GenBlock(gen, *block);
  if (const auto* chained = syntax::DynAs<syntax::IfStmt>(stmt)) GenIf(gen, *chained);
}

}  // namespace

void GenFor(FunctionGen& gen, const syntax::ForStmt& loop) {
  const Vars& binders = gen.checked.Info(&loop).entities;
  if (loop.is_spmd) return GenSpmd(gen, loop, binders);
  OpenLoop(gen, *loop.body);
  if (gen.Maps()) {
    GenMappedFor(gen, loop, 0);
  } else {
    GenLoopNest(gen, loop, binders, 0, CarriedBy(gen, *loop.body));
  }
  CloseLoop(gen);
}

void GenIf(FunctionGen& gen, const syntax::IfStmt& branch) {
  Value* condition = GenExpr(gen, branch.condition);
  if (gen.Maps()) return GenMaskedIf(gen, branch, condition);
  const syntax::Stmt* branches[] = {branch.then_block, branch.else_stmt};
  Vars vars = AssignedOutside(gen, branches);
  std::vector<Value*> before = Present(gen, vars);
  ir::Op* op = gen.builder.Create(OpKind::If, {{condition}}, ValueTypes(before));
  for (size_t r = 0; r < 2; ++r) {
    SetPresent(gen, vars, before);
    gen.builder.SetInsertionPoint(op->region(r));
    GenBranch(gen, r == 0 ? branch.then_block : branch.else_stmt);
    Yield(gen, vars);
  }
  gen.builder.SetInsertionPoint(op->parent_region());
  TakeResults(gen, vars, op);
}

}  // namespace kdl::irgen
