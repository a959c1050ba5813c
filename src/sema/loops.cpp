#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "sema/ast_walk.h"
#include "sema/coerce.h"
#include "sema/expr.h"
#include "sema/resolve.h"
#include "sema/sizes.h"
#include "sema/stmt.h"

namespace kdl::sema {

namespace {

using syntax::Binder;
using syntax::Expr;
using syntax::Extent;
using syntax::ForStmt;
using syntax::FunctionKind;

/// A block's size: known when code is made, and above 0. Null, reported, where it is not.
Size CheckBlockSize(FunctionState& state, const Expr* expr, std::string_view what) {
  bool at_run_time = AnyOf(expr, [&](const Expr* inner) {
    const auto* name = syntax::DynAs<syntax::NameExpr>(inner);
    const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
    if (entity == nullptr || IsFaulty(*entity)) return false;
    return entity->kind != EntityKind::Const && entity->kind != EntityKind::IntGeneric;
  });
  if (at_run_time) {
    state.diagnostics.Report(diag::BlockSizeNotStatic, expr->span, what, Quote(state, expr))
        .Help("take an integer parameter, for example `BN: int = auto`");
    return nullptr;
  }
  Size size = CheckSize(state, expr, what);
  if (size == nullptr) return nullptr;
  SizeTable& sizes = state.module.sizes;
  std::optional<int64_t> value = ConstantDifference(sizes, size, sizes.Constant(0));
  if (value && *value <= 0) {
    state.diagnostics.Report(diag::BlockSizeNotPositive, expr->span, what, *value);
    return nullptr;
  }
  return size;
}

/// The range that `for kk in k by 16` splits, or null.
const Entity* SplitRange(FunctionState& state, const Extent& extent) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(extent.hi);
  if (name == nullptr || extent.lo != nullptr) return nullptr;
  const Entity* entity = state.scopes.Find(name->name);
  return entity != nullptr && entity->kind == EntityKind::Range ? entity : nullptr;
}

/// What stands in the place of both bounds has no meaning: a faulty name, a list.
bool IsFaultyDomain(FunctionState& state, const Extent& extent) {
  if (extent.hi->kind == syntax::ExprKind::List) {
    ReportUnsupported(state.diagnostics, Feature::Lists, extent.hi->span);
    return true;
  }
  const auto* name = syntax::DynAs<syntax::NameExpr>(extent.hi);
  const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  return entity != nullptr && IsFaulty(*entity);
}

struct Bounds {
  bool ok = false;
  Size domain = nullptr;  ///< where they are 0..domain
};

Bounds CheckBounds(FunctionState& state, const Extent& extent) {
  bool ok = true;
  bool from_zero = extent.lo == nullptr;
  if (extent.lo != nullptr) {
    ok = !CheckInteger(state, extent.lo, "a loop's bound").is_error();
    Size lo = state.fn.exprs[extent.lo].size;
    from_zero = ok && lo != nullptr && IsConstant(lo, 0);
  }
  ok = !CheckInteger(state, extent.hi, "a loop's bound").is_error() && ok;
  Size hi = state.fn.exprs[extent.hi].size;
  if (ok && hi != nullptr && IsConstant(hi) && from_zero && hi->value < 0) {
    state.diagnostics.Report(diag::NegativeSize, extent.hi->span, hi->value);
    return {};
  }
  return {ok, ok && from_zero ? hi : nullptr};
}

Entity* DeclareRange(FunctionState& state, const syntax::Ident& name, const RangeFacts& facts) {
  Entity* entity = Declare(state, EntityKind::Range, name);
  entity->type.kind = TypeKind::Range;
  entity->range = facts;
  return entity;
}

Entity* BindRange(FunctionState& state, const Binder& binder) {
  const Extent& extent = binder.extent;
  if (state.kind() == FunctionKind::Program) {
    state.diagnostics.Report(diag::RangeInProgram, binder.span, binder.name.name.text())
        .Help("a program counts: `for r in 0..n`");
    return nullptr;
  }
  if (extent.step != nullptr) {
    state.diagnostics.Report(diag::StepWithBy, extent.step->span);
    return nullptr;
  }
  RangeFacts facts;
  facts.extent = CheckBlockSize(state, extent.by, "a block size");
  facts.parent = SplitRange(state, extent);
  bool ok = facts.extent != nullptr;
  if (facts.parent == nullptr) {
    Bounds bounds = CheckBounds(state, extent);
    ok = ok && bounds.ok;
    facts.domain = bounds.domain;
    facts.lo = extent.lo;
    facts.hi = extent.hi;
  } else if (IsFaulty(*facts.parent)) {
    ok = false;
  }
  return ok ? DeclareRange(state, binder.name, facts) : nullptr;
}

Entity* BindScalar(FunctionState& state, const Binder& binder) {
  const Extent& extent = binder.extent;
  if (extent.lo == nullptr) {
    state.diagnostics.Report(diag::BinderWithoutBlocks, extent.hi->span, Quote(state, extent.hi))
        .Help(fmt::format("write `{0} in {1} by 16` for blocks, `{0} in 0..{1}` for single indices",
                          binder.name.name.text(), Quote(state, extent.hi)));
    return nullptr;
  }
  bool ok = CheckBounds(state, extent).ok;
  if (extent.step != nullptr) {
    ok = !CheckInteger(state, extent.step, "a step").is_error() && ok;
    Size step = state.fn.exprs[extent.step].size;
    if (ok && step != nullptr && IsConstant(step) && step->value <= 0) {
      state.diagnostics.Report(diag::BlockSizeNotPositive, extent.step->span, "a step",
                               step->value);
      ok = false;
    }
  }
  if (!ok) return nullptr;
  Entity* entity = Declare(state, EntityKind::ScalarBinder, binder.name);
  entity->type = ValueType(Scalar::I64);
  entity->lo = extent.lo;
  entity->hi = extent.hi;
  entity->step = extent.step;
  return entity;
}

Entity* Bind(FunctionState& state, const Binder& binder) {
  if (IsFaultyDomain(state, binder.extent)) return nullptr;
  return binder.extent.by != nullptr ? BindRange(state, binder) : BindScalar(state, binder);
}

/// Of `spmd for`: the domain is there before any of its binders is.
bool UsesEarlier(FunctionState& state, const Extent& extent,
                 const std::vector<const Entity*>& earlier) {
  auto is_earlier = [&](const Expr* expr) {
    auto info = state.fn.exprs.find(expr);
    bool uses = info != state.fn.exprs.end() && Contains(earlier, info->second.entity);
    if (uses) ReportUnsupported(state.diagnostics, Feature::DependentBounds, expr->span);
    return uses;
  };
  const Entity* parent = SplitRange(state, extent);
  if (parent != nullptr && Contains(earlier, parent)) {
    ReportUnsupported(state.diagnostics, Feature::DependentBounds, extent.hi->span);
    return true;
  }
  return (extent.lo != nullptr && AnyOf(extent.lo, is_earlier)) || AnyOf(extent.hi, is_earlier);
}

/// The word `spmd`.
Span Head(const ForStmt& loop) {
  Span head = loop.span;
  head.end = head.begin + 4;
  return head;
}

bool MayHoldSpmd(FunctionState& state, const ForStmt& loop) {
  Span head = Head(loop);
  if (state.kind() != FunctionKind::Kernel) {
    state.diagnostics.Report(diag::Misplaced, head, "`spmd for`", "a program")
        .Help("a kernel deals blocks to cores; a program launches it with `spmd`");
    return false;
  }
  if (state.spmd_depth != 0) {
    state.diagnostics.Report(diag::NestedSpmd, head)
        .Help("bind both ranges in one `spmd for`, or use `for` inside");
    return false;
  }
  if (state.divergent > 0) {
    ReportDivergent(state, head);
    return false;
  }
  return true;
}

std::vector<const Expr*> BoundsOf(const ForStmt& loop) {
  std::vector<const Expr*> bounds;
  for (const Binder& binder : loop.binders) {
    for (const Expr* expr : {binder.extent.lo, binder.extent.hi, binder.extent.step}) {
      if (expr != nullptr) bounds.push_back(expr);
    }
  }
  return bounds;
}

std::vector<const Entity*> BindAll(FunctionState& state, const ForStmt& loop, bool is_spmd) {
  std::vector<const Entity*> entities;
  for (const Binder& binder : loop.binders) {
    Entity* entity = loop.domain == nullptr ? Bind(state, binder) : nullptr;
    if (entity == nullptr) {
      DeclareFaulty(state, binder.name);
      continue;
    }
    entity->in_spmd = is_spmd;
    if (is_spmd && entity->step != nullptr) {
      ReportUnsupported(state.diagnostics, Feature::SpmdStep, entity->step->span);
    }
    if (is_spmd) UsesEarlier(state, binder.extent, entities);
    entities.push_back(entity);
  }
  return entities;
}

}  // namespace

void ReportDivergent(FunctionState& state, Span head) {
  state.diagnostics.Report(diag::DivergentSpmd, head)
      .Help("a condition or bound around it may use sizes, parameters and core_num, not core_id");
}

void CheckFor(FunctionState& state, const ForStmt& loop) {
  ScopeGuard scope(state.scopes);
  bool is_spmd = loop.is_spmd && MayHoldSpmd(state, loop);
  bool has_binders = is_spmd || !loop.is_spmd || state.kind() == FunctionKind::Kernel;
  if (loop.domain != nullptr && CheckExpr(state, loop.domain).kind != TypeKind::Error) {
    state.diagnostics.Report(diag::NotADomain, loop.domain->span, Quote(state, loop.domain))
        .Help("give each binder its own extent: `for i in M by BM, j in N by BN`");
  }
  if (has_binders) {
    state.fn.stmts[&loop].entities = BindAll(state, loop, is_spmd);
  } else {
    for (const Binder& binder : loop.binders) DeclareFaulty(state, binder.name);
  }
  std::vector<const Expr*> bounds = BoundsOf(loop);
  int divergent = 0;
  for (const Expr* bound : bounds) divergent |= DependsOnCore(state, bound) ? 1 : 0;
  if (is_spmd) {
    for (const Expr* condition : state.conditions)
      state.uniform.emplace_back(condition, Head(loop));
  }
  size_t around = state.spmd_depth;
  size_t conditions = state.conditions.size();
  state.conditions.insert(state.conditions.end(), bounds.begin(), bounds.end());
  state.divergent += divergent;
  ++state.loop_depth;
  if (loop.is_spmd && around == 0) state.spmd_depth = state.scopes.depth();
  CheckBlock(state, *loop.body);
  state.spmd_depth = around;
  --state.loop_depth;
  state.divergent -= divergent;
  state.conditions.resize(conditions);
}

void CheckRange(FunctionState& state, const syntax::RangeStmt& range) {
  RangeFacts facts;
  facts.whole = true;
  facts.hi = range.extent;
  bool ok = !CheckInteger(state, range.extent, "the extent of a range").is_error();
  facts.domain = ok ? state.fn.exprs[range.extent].size : nullptr;
  if (range.max != nullptr) {
    facts.extent = CheckBlockSize(state, range.max, "the `max` of a range");
  } else if (ok && facts.domain != nullptr && IsStatic(state, facts.domain)) {
    facts.extent = facts.domain;
  } else if (ok) {
    state.diagnostics.Report(diag::RangeNeedsMax, range.extent->span, Quote(state, range.extent))
        .Help(fmt::format("write `range {} in {} max 1024;`, or walk it in blocks with `for`",
                          range.name.name.text(), Quote(state, range.extent)));
  }
  if (!ok || facts.extent == nullptr) return DeclareFaulty(state, range.name);
  state.fn.stmts[&range].entities = {DeclareRange(state, range.name, facts)};
}

}  // namespace kdl::sema
