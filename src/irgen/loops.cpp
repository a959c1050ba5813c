#include <fmt/format.h>

#include <algorithm>

#include "irgen/function_gen.h"
#include "support/check.h"

// Vars become values: what a loop assigns is carried, what a branch assigns is yielded.

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;
using Vars = std::vector<const sema::Entity*>;

void FindAssigned(const FunctionGen& gen, const syntax::Stmt* stmt, Vars& found) {
  if (!stmt) return;
  if (const auto* block = syntax::DynAs<syntax::BlockStmt>(stmt)) {
    for (const syntax::Stmt* inner : block->stmts) FindAssigned(gen, inner, found);
  } else if (const auto* branch = syntax::DynAs<syntax::IfStmt>(stmt)) {
    FindAssigned(gen, branch->then_block, found);
    FindAssigned(gen, branch->else_stmt, found);
  } else if (const auto* loop = syntax::DynAs<syntax::ForStmt>(stmt)) {
    FindAssigned(gen, loop->body, found);
  } else if (const auto* assign = syntax::DynAs<syntax::AssignStmt>(stmt)) {
    bool part = gen.Info(assign->target).part != nullptr;
    if (part || assign->target->kind == syntax::ExprKind::Name)
      found.push_back(gen.Info(assign->target).entity);
  }
}

/// The vars that `stmt` assigns and that live outside it, in the order of their declaration.
Vars AssignedOutside(const FunctionGen& gen, std::initializer_list<const syntax::Stmt*> stmts) {
  Vars found;
  for (const syntax::Stmt* stmt : stmts) FindAssigned(gen, stmt, found);
  std::erase_if(found, [&](const sema::Entity* var) { return !gen.values.contains(var); });
  std::sort(found.begin(), found.end(), [](auto* a, auto* b) { return a->number < b->number; });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<Value*> Present(const FunctionGen& gen, const Vars& vars) {
  std::vector<Value*> values;
  for (const sema::Entity* var : vars) values.push_back(gen.values.at(var));
  return values;
}

std::vector<ir::Type> TypesOf(const std::vector<Value*>& values) {
  std::vector<ir::Type> types;
  for (Value* value : values) types.push_back(value->type());
  return types;
}

void Yield(FunctionGen& gen, const Vars& vars) {
  gen.builder.Create(OpKind::Yield, {Present(gen, vars)}, {});
}

void TakeResults(FunctionGen& gen, const Vars& vars, ir::Op* op) {
  for (size_t i = 0; i < vars.size(); ++i) {
    op->result(i)->set_name(vars[i]->name);
    gen.values[vars[i]] = op->result(i);
  }
}

/// Parameters for the carried vars, behind those that the region has; they are the vars' values from here on.
void CarryInto(FunctionGen& gen, ir::Block* region, const Vars& vars,
               const std::vector<Value*>& inits) {
  for (size_t i = 0; i < vars.size(); ++i) {
    gen.values[vars[i]] = gen.builder.AddParam(region, inits[i]->type(), vars[i]->name);
  }
}

LoopBounds BoundsOfRange(FunctionGen& gen, const sema::RangeFacts& facts) {
  ir::Type i64 = gen.builder.types().ScalarOf(Scalar::I64);
  if (facts.parent) {
    Value* blk = gen.blks.at(facts.parent);
    Value* lo = gen.builder.Make(OpKind::BlkStart, {blk}, i64);
    Value* size = gen.builder.Make(OpKind::BlkSize, {blk}, i64);
    return {lo, gen.builder.Binary(OpKind::Add, lo, size), nullptr};
  }
  if (facts.domain) {
    Value* zero = gen.builder.I64(0);
    Value* size =
        gen.builder.Make(OpKind::SizeOf, {}, i64, {ir::MakeAttr<ir::AttrKey::Size>(facts.domain)});
    return {zero, size, nullptr};
  }
  Value* lo = facts.lo ? GenIndex(gen, facts.lo) : gen.builder.I64(0);
  return {lo, GenIndex(gen, facts.hi), nullptr};
}

LoopBounds BoundsOfIndices(FunctionGen& gen, const syntax::Expr* lo, const syntax::Expr* hi,
                           const syntax::Expr* step) {
  Value* first = lo ? GenIndex(gen, lo) : gen.builder.I64(0);
  Value* end = GenIndex(gen, hi);
  return {first, end, step ? GenIndex(gen, step) : nullptr};
}

LoopBounds BoundsOf(FunctionGen& gen, const sema::Entity* binder) {
  if (binder->of) return gen.domains.at(binder->of)[binder->position];
  if (binder->kind == sema::EntityKind::Range) return BoundsOfRange(gen, binder->range);
  return BoundsOfIndices(gen, binder->lo, binder->hi, binder->step);
}

/// The region's parameter for a binder: its blk, or its index.
void AddBinder(FunctionGen& gen, ir::Block* region, const sema::Entity* binder) {
  ir::TypeTable& types = gen.builder.types();
  if (binder->kind == sema::EntityKind::Range) {
    gen.blks[binder] = gen.builder.AddParam(region, types.Blk(gen.AxisOf(binder)), binder->name);
  } else {
    gen.values[binder] = gen.builder.AddParam(region, types.ScalarOf(Scalar::I64), binder->name);
  }
}

/// A name of its own for each domain of the function: two of one name are walked alike.
Name DomainName(FunctionGen& gen, const sema::Entity* domain) {
  int before = 0;
  for (const sema::Entity* entity : gen.checked.entities) {
    bool same = entity->kind == sema::EntityKind::Domain && entity->name == domain->name;
    before += same && entity->number < domain->number ? 1 : 0;
  }
  if (before == 0) return domain->name;
  return gen.module.context().names.Intern(fmt::format("{}.{}", domain->name.text(), before));
}

void GenSpmd(FunctionGen& gen, const syntax::ForStmt& loop, const Vars& binders) {
  std::vector<Value*> bounds;
  for (const sema::Entity* binder : binders) {
    LoopBounds b = BoundsOf(gen, binder);
    bounds.push_back(b.lo);
    bounds.push_back(b.hi);
  }
  const sema::StmtInfo& info = gen.checked.Info(&loop);
  ir::DealKind deal = info.is_grouped   ? ir::DealKind::Grouped
                      : info.is_dynamic ? ir::DealKind::Dynamic
                                        : ir::DealKind::Static;
  std::vector<ir::Attr> attrs = {ir::MakeAttr<ir::AttrKey::Deal>(deal)};
  if (const sema::Entity* domain = binders[0]->of)
    attrs.push_back(ir::MakeAttr<ir::AttrKey::Domain>(DomainName(gen, domain)));
  ir::Op* op = gen.builder.Create(OpKind::Spmd, {bounds}, {}, std::move(attrs));
  for (const sema::Entity* binder : binders) AddBinder(gen, op->region(), binder);
  gen.builder.SetInsertionPoint(op->region());
  GenBlock(gen, *loop.body);
  Yield(gen, {});
  gen.builder.SetInsertionPoint(op->block());
}

/// `for` over several binders is a nest, leftmost outermost; all levels carry the same vars.
void GenLoopNest(FunctionGen& gen, const syntax::ForStmt& loop, const Vars& binders, size_t depth,
                 const Vars& vars) {
  if (depth == binders.size()) return GenBlock(gen, *loop.body);
  const sema::Entity* binder = binders[depth];
  LoopBounds bounds = BoundsOf(gen, binder);
  std::vector<Value*> inits = Present(gen, vars);
  ir::Op* op;
  if (binder->kind == sema::EntityKind::Range) {
    op = gen.builder.Create(OpKind::For, {{bounds.lo}, {bounds.hi}, inits}, TypesOf(inits));
  } else {
    Value* step = bounds.step ? bounds.step : gen.builder.I64(1);
    op =
        gen.builder.Create(OpKind::Loop, {{bounds.lo}, {bounds.hi}, {step}, inits}, TypesOf(inits));
  }
  AddBinder(gen, op->region(), binder);
  CarryInto(gen, op->region(), vars, inits);
  gen.builder.SetInsertionPoint(op->region());
  GenLoopNest(gen, loop, binders, depth + 1, vars);
  Yield(gen, vars);
  gen.builder.SetInsertionPoint(op->block());
  TakeResults(gen, vars, op);
}

/// In a fn that may be mapped elementwise, both branches are evaluated and each assignment selects.
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
  GenLoopNest(gen, loop, binders, 0, AssignedOutside(gen, {loop.body}));
}

void GenDomain(FunctionGen& gen, const sema::Entity* domain) {
  std::vector<LoopBounds> bounds;
  for (const sema::WalkFacts& walk : domain->walks) {
    bounds.push_back(walk.blocked ? BoundsOfRange(gen, walk.range)
                                  : BoundsOfIndices(gen, walk.lo, walk.hi, walk.step));
  }
  gen.domains[domain] = std::move(bounds);
}

void GenIf(FunctionGen& gen, const syntax::IfStmt& branch) {
  Value* condition = GenExpr(gen, branch.condition);
  bool maps = gen.function.kind == ir::FunctionKind::Fn && !gen.checked.HasPipes();
  if (maps) return GenMaskedIf(gen, branch, condition);
  Vars vars = AssignedOutside(gen, {branch.then_block, branch.else_stmt});
  std::vector<Value*> before = Present(gen, vars);
  ir::Op* op = gen.builder.Create(OpKind::If, {{condition}}, TypesOf(before));
  for (size_t r = 0; r < 2; ++r) {
    for (size_t i = 0; i < vars.size(); ++i) gen.values[vars[i]] = before[i];
    gen.builder.SetInsertionPoint(op->region(r));
    GenBranch(gen, r == 0 ? branch.then_block : branch.else_stmt);
    Yield(gen, vars);
  }
  gen.builder.SetInsertionPoint(op->block());
  TakeResults(gen, vars, op);
}

}  // namespace kdl::irgen
