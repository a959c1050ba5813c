#include "irgen/contracts/tiles.h"

#include <algorithm>

#include "irgen/accesses/elements.h"
#include "irgen/contracts/folds.h"
#include "irgen/contracts/parts.h"
#include "irgen/contracts/values.h"
#include "irgen/walk/generate.h"
#include "sema/model/ast_walk.h"
#include "support/check.h"

namespace kdl::irgen {

namespace {

using ir::Value;
using sema::Entity;
using syntax::Expr;
using syntax::IndexExpr;
using Values = std::vector<Value*>;

bool CallsTiles(const sema::ExprInfo& info) {
  return info.callee && !info.builtin && !info.reduce && !info.callee->ranges.empty();
}

/// Returns the caller's index names that the call binds to the given ranges of the callee.
IndexNames BoundNames(const sema::CheckedFunction& callee, const sema::CallInfo& bound,
                      const IndexNames& ranges) {
  IndexNames names;
  for (const Entity* range : ranges) {
    auto number = std::ranges::find(callee.ranges, range) - callee.ranges.begin();
    names.push_back(bound.ranges[static_cast<size_t>(number)]);
  }
  return names;
}

Kept TablesFor(FunctionGen& gen, const IndexNames& names, const sema::Type& type, Name name) {
  Kept kept = AddTables(gen, names, MadeParts(gen, type), Knows::No);
  for (Value* table : kept.tables) table->set_name(name);
  return kept;
}

/// Fills a table. `make` generates the value for the current index values.
void Fill(FunctionGen& gen, const Kept& kept, const sema::Type& type, const GenValues& make) {
  std::vector<Scalar> types = MadeParts(gen, type);
  GenForAll(gen, kept.names, [&] { StoreKept(gen, kept, CastParts(gen, make(), types)); });
}

void FillArgument(FunctionGen& gen, FunctionGen& inner, const Entity* param,
                  const IndexNames& names, const Expr* argument) {
  auto make = [&] { return GenParts(gen, argument); };
  if (names.empty()) {
    Values parts = CastParts(gen, make(), MadeParts(gen, param->type));
    if (!param->type.is_tuple()) inner.values[param] = parts[0];
    if (param->type.is_tuple()) inner.tuples[param] = std::move(parts);
    return;
  }
  Kept kept = TablesFor(gen, names, param->type, param->name);
  Fill(gen, kept, param->type, make);
  kept.names = param->type.ranges;
  inner.tiles->values[param] = std::move(kept);
}

/// Generates a call of a fn that computes on tiles, for the current index values of the caller. Returns the
/// result as tables over the remaining names.
Kept GenTileCall(FunctionGen& gen, const syntax::CallExpr& call) {
  const sema::ExprInfo& info = gen.Info(&call);
  const sema::CheckedFunction& callee = *info.callee;
  FnTiles tiles;
  for (size_t i = 0; i < callee.ranges.size(); ++i)
    tiles.extents[callee.ranges[i]] = NameExtent(gen, info.call->ranges[i]);
  FunctionGen inner = GenInner(gen, callee, info.call->sizes);
  inner.tiles = &tiles;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Entity* param = callee.params[i].entity;
    FillArgument(gen, inner, param, BoundNames(callee, *info.call, param->type.ranges),
                 call.args[i].value);
  }
  GenInnerBody(gen, inner);
  Kept result = std::move(tiles.returned);
  result.names = BoundNames(callee, *info.call, result.names);
  return result;
}

/// Returns the index names along which a single evaluation of the expression computes all values.
IndexNames RowNames(const FunctionGen& gen, const Expr* expr) {
  const sema::ExprInfo& info = gen.Info(expr);
  if (info.reduce) return FoldRowNames(*info.reduce);
  if (!CallsTiles(info)) return {};
  return BoundNames(*info.callee, *info.call, info.callee->result.ranges);
}

/// Evaluates the expression along the names in RowNames, for the current values of the other names.
void GenRow(FunctionGen& gen, const Expr* expr, const Kept& kept) {
  const sema::ExprInfo& info = gen.Info(expr);
  if (info.reduce) return GenFoldRow(gen, syntax::As<syntax::ReduceExpr>(expr), kept);
  std::vector<Scalar> types = MadeParts(gen, info.type);
  auto store = [&](const Values& values) { StoreKept(gen, kept, CastParts(gen, values, types)); };
  if (!CallsTiles(info)) return store(GenParts(gen, expr));
  Kept result = GenTileCall(gen, syntax::As<syntax::CallExpr>(expr));
  GenForAll(gen, result.names, [&] { store(LoadKept(gen, result)); });
}

void GenAhead(FunctionGen& gen, const Expr* expr);

/// Calls GenAhead for those operands of the expression that are needed whenever the expression is evaluated.
void GenAheadIn(FunctionGen& gen, const Expr* expr) {
  auto visit = [&](const Expr* child) { GenAhead(gen, child); };
  if (const auto* choice = syntax::DynAs<syntax::IfExpr>(expr)) return visit(choice->condition);
  if (const auto* call = syntax::DynAs<syntax::CallExpr>(expr)) {
    for (const syntax::Arg& arg : call->args) visit(arg.value);
    return;
  }
  if (const auto* index = syntax::DynAs<IndexExpr>(expr)) {
    for (const syntax::Index& at : index->indices) visit(at.value);
    if (gen.Info(expr).part && index->base->kind != syntax::ExprKind::Name) visit(index->base);
    return;
  }
  const auto* binary = syntax::DynAs<syntax::BinaryExpr>(expr);
  bool is_lazy =
      binary && (binary->op == syntax::BinaryOp::And || binary->op == syntax::BinaryOp::Or);
  if (is_lazy) return visit(binary->lhs);
  sema::ForEachChild(expr, visit);
}

const Kept& MakeAhead(FunctionGen& gen, const Expr* expr) {
  const sema::Type& type = gen.Info(expr).type;
  Name name = gen.module.context().names.Intern("ahead");
  Kept kept = TablesFor(gen, InOrder(type.ranges), type, name);
  IndexNames others = kept.names;
  for (const Entity* row : RowNames(gen, expr)) std::erase(others, row);
  GenForAll(gen, others, [&] { GenRow(gen, expr, kept); });
  return gen.tiles->ahead[expr] = std::move(kept);
}

/// Computes the reductions and calls in the expression in advance, for all values of the ranges that they
/// depend on.
void GenAhead(FunctionGen& gen, const Expr* expr) {
  auto known = gen.checked.exprs.find(expr);
  if (known == gen.checked.exprs.end()) return;
  const sema::ExprInfo& info = known->second;
  if (info.constant || info.size) return;
  GenAheadIn(gen, expr);
  if (info.reduce || CallsTiles(info)) MakeAhead(gen, expr);
}

/// Returns the tile that `tile[k = e]` selects a part of.
const Kept& PartBase(FunctionGen& gen, const Expr* base) {
  if (base->kind == syntax::ExprKind::Name) return gen.tiles->values.at(gen.Info(base).entity);
  auto known = gen.tiles->ahead.find(base);
  return known == gen.tiles->ahead.end() ? MakeAhead(gen, base) : known->second;
}

sema::IndexInfo PartIndex(const FunctionGen& gen, const Kept& tile, const sema::PartInfo& part) {
  sema::IndexInfo place = KeptIndex(gen, tile);
  for (size_t i = 0; i < part.ranges.size(); ++i) {
    auto number = std::ranges::find(tile.names, part.ranges[i]) - tile.names.begin();
    place.dims[static_cast<size_t>(number)] = part.dims[i];
  }
  return place;
}

/// An assignment to a tile. The whole new value is computed before the variable changes, since it may depend
/// on other elements of the variable.
struct Assignment {
  const syntax::AssignStmt& assign;
  IndexNames names;
  const sema::Type& type;
  GenValues present;
  std::function<void(const Values&)> store;
};

void GenAssignment(FunctionGen& gen, const Assignment& to) {
  const syntax::AssignStmt& assign = to.assign;
  GenAhead(gen, assign.value);
  Kept next = TablesFor(gen, to.names, to.type, gen.module.context().names.Intern("next"));
  Fill(gen, next, to.type, [&] {
    if (assign.op == syntax::AssignOp::Set) return GenParts(gen, assign.value);
    Value* before = to.present()[0];
    return Values{GenUpdate(gen, assign, before)};
  });
  GenForAll(gen, next.names, [&] { to.store(LoadKept(gen, next)); });
  gen.tiles->ahead.clear();
}

}  // namespace

Values GenContractTileCall(FunctionGen& gen, const syntax::CallExpr& call) {
  const sema::ExprInfo& info = gen.Info(&call);
  std::vector<Scalar> types = MadeParts(gen, info.type);
  if (gen.tiles) return CastParts(gen, GenTileValue(gen, &call), types);
  IndexNames free = InOrder(info.type.ranges);
  bool is_new = free.size() == gen.contract->around.size();
  AroundScope around(gen, info.call->ranges);
  auto fill = [&](const Kept& kept) { GenRow(gen, &call, kept); };
  auto make = [&] { return CastParts(gen, LoadKept(gen, GenTileCall(gen, call)), types); };
  if (!info.callee->result.ranges.empty()) return GenFilledOnce(gen, free, types, fill);
  return is_new ? make() : GenOnce(gen, free, types, make);
}

Values GenTileValue(FunctionGen& gen, const Expr* expr) {
  auto known = gen.tiles->ahead.find(expr);
  if (known != gen.tiles->ahead.end()) return LoadKept(gen, known->second);
  GenAheadIn(gen, expr);
  const sema::Type& type = gen.Info(expr).type;
  Kept kept = TablesFor(gen, InOrder(type.ranges), type, gen.module.context().names.Intern("here"));
  GenRow(gen, expr, kept);
  return LoadKept(gen, kept);
}

Value* GenTileElement(FunctionGen& gen, const IndexExpr& expr) {
  const sema::ExprInfo& info = gen.Info(&expr);
  const Kept& tile = PartBase(gen, expr.base);
  return GenElementOr(gen, tile.tables[0], PartIndex(gen, tile, *info.part), info.part->otherwise,
                      gen.Made(info.type.scalar), expr.span);
}

void GenTileLet(FunctionGen& gen, const Entity* entity, const Expr* value) {
  GenAhead(gen, value);
  Kept kept = TablesFor(gen, entity->type.ranges, entity->type, entity->name);
  Fill(gen, kept, entity->type, [&] { return GenParts(gen, value); });
  gen.tiles->values[entity] = std::move(kept);
  gen.tiles->ahead.clear();
}

void GenTileAssign(FunctionGen& gen, const syntax::AssignStmt& assign, const Entity* var) {
  const Kept& tile = gen.tiles->values.at(var);
  auto present = [&] { return LoadKept(gen, tile); };
  auto store = [&](const Values& values) { StoreKept(gen, tile, values); };
  GenAssignment(gen, {assign, tile.names, var->type, present, store});
}

void GenTilePartAssign(FunctionGen& gen, const syntax::AssignStmt& assign,
                       const IndexExpr& target) {
  const sema::ExprInfo& info = gen.Info(&target);
  const Kept& tile = gen.tiles->values.at(info.entity);
  auto present = [&] { return Values{GenTileElement(gen, target)}; };
  auto store = [&](const Values& values) {
    GenElementStore(gen, values[0], tile.tables[0], PartIndex(gen, tile, *info.part));
  };
  GenAssignment(gen, {assign, InOrder(info.type.ranges), info.type, present, store});
}

void GenTileReturn(FunctionGen& gen, const Expr* value) {
  GenAhead(gen, value);
  const sema::Type& type = gen.checked.result;
  Kept kept = TablesFor(gen, type.ranges, type, gen.module.context().names.Intern("returned"));
  Fill(gen, kept, type, [&] { return GenParts(gen, value); });
  gen.tiles->returned = std::move(kept);
}

void GenForElements(FunctionGen& gen, const Expr* tile, const std::function<void()>& body) {
  GenAhead(gen, tile);
  GenForAll(gen, InOrder(gen.Info(tile).type.ranges), body);
  gen.tiles->ahead.clear();
}

}  // namespace kdl::irgen
