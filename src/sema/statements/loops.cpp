#include "sema/statements/loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sema/accesses/tensor_effects.h"
#include "sema/model/ast_walk.h"
#include "sema/statements/flow.h"
#include "sema/statements/ranges.h"
#include "sema/statements/uniform.h"
#include "sema/types/attributes.h"
#include "sema/types/extents.h"
#include "sema/types/size_arithmetic.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"
#include "sema/walk/stmt.h"

namespace kdl::sema {

namespace {

using syntax::Binder;
using syntax::Expr;
using syntax::Extent;
using syntax::ForStmt;
using syntax::FunctionKind;

Entity* BindWalk(FunctionState& state, const syntax::Ident& name, const WalkFacts& walk) {
  if (walk.blocked) {
    Entity* range = DeclareRange(state, name, walk.range);
    state.module.uses.Add(*range);  // a loop may just repeat its body
    return range;
  }
  Entity* entity = Declare(state, EntityKind::ScalarBinder, name);
  entity->type = ValueType(Scalar::I64);
  entity->lo = walk.lo;
  entity->hi = walk.hi;
  entity->step = walk.step;
  return entity;
}

/// Requires that the step is constant. A fn may be mapped over elements: the loops of different elements
/// may have different bounds, but must have the same step.
void CheckFnStep(FunctionState& state, const Expr* step) {
  if (step == nullptr || state.fn.exprs[step].type.is_error()) return;
  Size size = state.fn.exprs[step].size;
  if (size != nullptr && IsStatic(state, size)) return;
  state.diagnostics.Report(diag::StepInFn, step->span, Quote(state, step))
      .Help("use `while` if the step is known only at run time");
}

Entity* Bind(FunctionState& state, const Binder& binder) {
  if (binder.extent.by != nullptr && state.kind() == FunctionKind::Program) {
    state.diagnostics.Report(diag::RangeInProgram, binder.span, binder.name.name.text())
        .Help("iterate over single indices: `for r in 0..n`");
    return nullptr;
  }
  if (binder.extent.by != nullptr && state.kind() == FunctionKind::Fn) {
    state.diagnostics.Report(diag::RangeInFn, binder.span, binder.name.name.text())
        .Help(
            "iterate over single indices: `for r in 0..n`; the tiles of a fn have the ranges of "
            "its call");
    return nullptr;
  }
  std::optional<WalkFacts> walk = CheckExtent(state, binder.extent, binder.name.name.text());
  if (walk && state.kind() == FunctionKind::Fn) CheckFnStep(state, walk->step);
  return walk ? BindWalk(state, binder.name, *walk) : nullptr;
}

/// Returns the span of the keyword `spmd`.
Span Head(const ForStmt& loop) {
  Span head = loop.span;
  head.end = head.begin + 4;
  return head;
}

bool MayHoldSpmd(FunctionState& state, const ForStmt& loop) {
  Span head = Head(loop);
  if (state.kind() != FunctionKind::Kernel) {
    bool in_fn = state.kind() == FunctionKind::Fn;
    state.diagnostics.Report(diag::Misplaced, head, "`spmd for`", in_fn ? "a fn" : "a program")
        .Help(in_fn ? "move it to a kernel; a fn works on the tiles of one block"
                    : "move it to a kernel, which a program launches with `spmd`");
    return false;
  }
  if (state.spmd_depth != 0) {
    state.diagnostics.Report(diag::NestedSpmd, head)
        .Help("bind both ranges in one `spmd for`, or use `for` for the inner loop");
    return false;
  }
  return CheckUniformPlace(state, head, false);
}

/// Returns the name of the domain in `for i, j in blocks` or `for i in blocks`, or null if each loop variable
/// has its own extent.
const syntax::NameExpr* WalkedName(FunctionState& state, const ForStmt& loop) {
  if (loop.domain != nullptr) return &syntax::As<syntax::NameExpr>(loop.domain);
  const Extent& extent = loop.binders[0].extent;
  bool alone = loop.binders.size() == 1 && extent.lo == nullptr && extent.by == nullptr &&
               extent.step == nullptr;
  const auto* name = alone ? syntax::DynAs<syntax::NameExpr>(extent.hi) : nullptr;
  const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  return entity != nullptr && entity->kind == EntityKind::Domain ? name : nullptr;
}

/// Returns the domain over which the loop iterates. If the domain does not have one dimension for each loop
/// variable, reports an error and returns null.
const Entity* ResolveDomain(FunctionState& state, const ForStmt& loop,
                            const syntax::NameExpr& name) {
  const Entity* domain = Resolve(state, name.name, name.span);
  if (domain == nullptr || IsFaulty(*domain)) return nullptr;
  if (domain->kind != EntityKind::Domain) {
    state.diagnostics.Report(diag::NotADomain, name.span, name.name.text(), Describe(domain->kind))
        .Note(domain->span, "declared here")
        .Help("give each binder its own extent: `for i in M by BM, j in N by BN`");
    return nullptr;
  }
  if (domain->walks.size() != loop.binders.size()) {
    Span binders = loop.binders.front().name.span;
    binders.end = loop.binders.back().name.span.end;
    state.diagnostics
        .Report(diag::DomainBinders, binders, domain->name.text(),
                Counted(domain->walks.size(), "dimension"), Counted(loop.binders.size(), "name"))
        .Note(domain->span, "declared here")
        .Help("bind one name for each of its dimensions");
    return nullptr;
  }
  return domain;
}

/// Declares the variables of a loop over a named domain. They are new ranges with the extents of the
/// domain's dimensions.
std::vector<const Entity*> BindDomain(FunctionState& state, const ForStmt& loop,
                                      const syntax::NameExpr& name, bool is_spmd) {
  const Entity* domain = ResolveDomain(state, loop, name);
  std::vector<const Entity*> entities;
  for (uint32_t i = 0; i < loop.binders.size(); ++i) {
    if (domain == nullptr) {
      DeclareFaulty(state, loop.binders[i].name);
      continue;
    }
    const WalkFacts& walk = domain->walks[i];
    Entity* entity = BindWalk(state, loop.binders[i].name, walk);
    entity->of = domain;
    entity->position = i;
    entity->in_spmd = is_spmd;
    entities.push_back(entity);
  }
  return entities;
}

/// Declares the variables of a loop in which each variable has its own extent.
std::vector<const Entity*> BindEach(FunctionState& state, const ForStmt& loop, bool is_spmd) {
  std::vector<const Entity*> entities;
  for (const Binder& binder : loop.binders) {
    Entity* entity = Bind(state, binder);
    if (entity == nullptr) {
      DeclareFaulty(state, binder.name);
      continue;
    }
    entity->in_spmd = is_spmd;
    entities.push_back(entity);
  }
  return entities;
}

std::vector<const Entity*> BindAll(FunctionState& state, const ForStmt& loop, bool is_spmd) {
  if (const syntax::NameExpr* name = WalkedName(state, loop)) {
    return BindDomain(state, loop, *name, is_spmd);
  }
  return BindEach(state, loop, is_spmd);
}

/// Returns all bounds of the loop, including those of a domain.
std::vector<const Expr*> BoundsOfLoop(const ForStmt& loop,
                                      const std::vector<const Entity*>& binders) {
  std::vector<const Expr*> bounds;
  for (const Entity* binder : binders) {
    if (binder->of == nullptr) continue;
    for (const Expr* expr : {binder->range.lo, binder->range.hi, binder->lo, binder->hi}) {
      if (expr != nullptr) bounds.push_back(expr);
    }
  }
  for (const Binder& binder : loop.binders) {
    if (binder.extent.hi == nullptr) continue;
    std::vector<const Expr*> own = ExtentBounds(binder.extent);
    bounds.insert(bounds.end(), own.begin(), own.end());
  }
  return bounds;
}

/// Returns the first variable of another `spmd for` over the same domain, or null if there is none.
const Entity* WalkedToo(const FunctionState& state, const Entity& binder) {
  if (binder.of == nullptr) return nullptr;
  for (const Entity* other : state.fn.entities) {
    bool walks = other->of == binder.of && other->in_spmd && other->position == 0;
    if (walks && other != &binder) return other;
  }
  return nullptr;
}

/// If the cores share the iterations of the loop, checks that its bounds are the same on all cores. Bounds
/// that depend on another variable of the loop may differ.
void CheckUniformBounds(FunctionState& state, const std::vector<const Expr*>& bounds,
                        const std::vector<const Entity*>& binders) {
  for (const Expr* bound : bounds) {
    bool is_inner = AnySubexpression(bound, [&](const Expr* inner) {
      auto info = state.fn.exprs.find(inner);
      return info != state.fn.exprs.end() && std::ranges::count(binders, info->second.entity) > 0;
    });
    if (is_inner) continue;
    if (MayVary(state, bound)) return ReportDivergent(state, bound->span, false);
    state.uniform.push_back({bound, bound->span, false});
  }
}

}  // namespace

void SettleDynamic(FunctionState& state) {
  for (const ForStmt* loop : state.dynamic) {
    StmtInfo& info = state.fn.stmts[loop];
    const Entity* other = info.entities.empty() ? nullptr : WalkedToo(state, *info.entities[0]);
    info.is_dynamic = other == nullptr;
    if (other == nullptr) continue;
    state.diagnostics
        .Report(diag::DynamicIgnored, FindAttribute(loop->attributes, "dynamic")->span,
                other->of->name.text())
        .Note(other->span, "the other loop")
        .Help("remove it, or give this loop its own bounds: `spmd for i in N by 64`");
  }
}

void CheckFor(FunctionState& state, const ForStmt& loop) {
  ScopeGuard scope(state.scopes);
  bool is_spmd = loop.is_spmd && MayHoldSpmd(state, loop);
  bool has_binders = is_spmd || !loop.is_spmd || state.kind() == FunctionKind::Kernel;
  if (has_binders) {
    state.fn.stmts[&loop].entities = BindAll(state, loop, is_spmd);
  } else {
    for (const Binder& binder : loop.binders) DeclareFaulty(state, binder.name);
  }
  std::vector<const Expr*> bounds = BoundsOfLoop(loop, state.fn.stmts[&loop].entities);
  if (is_spmd) CheckUniformBounds(state, bounds, state.fn.stmts[&loop].entities);
  int divergent = 0;
  for (const Expr* bound : bounds) divergent |= MayVary(state, bound) ? 1 : 0;
  if (is_spmd && FindAttribute(loop.attributes, "dynamic") != nullptr)
    state.dynamic.push_back(&loop);
  if (const syntax::Attribute* ahead = FindAttribute(loop.attributes, "pipelined"))
    state.fn.stmts[&loop].ahead = AttributeNumber(state, *ahead).value_or(0);
  size_t around = state.spmd_depth;
  size_t conditions = state.conditions.size();
  state.conditions.insert(state.conditions.end(), bounds.begin(), bounds.end());
  state.divergent += divergent;
  ++state.loop_depth;
  if (loop.is_spmd && around == 0) {
    state.spmd_depth = state.scopes.depth();
    state.spmd_loop = &loop;
  }
  OpenLoop(state, loop.is_spmd);
  CheckBlock(state, *loop.body);
  CloseLoop(state);
  state.spmd_depth = around;
  if (around == 0) state.spmd_loop = nullptr;
  --state.loop_depth;
  SettleReads(state);
  state.divergent -= divergent;
  state.conditions.resize(conditions);
}

void CheckDomain(FunctionState& state, const syntax::DomainStmt& stmt) {
  std::vector<WalkFacts> walks;
  for (const Extent& dim : stmt.dims) {
    if (std::optional<WalkFacts> walk = CheckExtent(state, dim, "")) walks.push_back(*walk);
  }
  if (walks.size() != stmt.dims.size()) return DeclareFaulty(state, stmt.name);
  Entity* entity = Declare(state, EntityKind::Domain, stmt.name);
  entity->walks = std::move(walks);
  state.fn.stmts[&stmt].entities = {entity};
}

}  // namespace kdl::sema
