#include "sema/types/extents.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "sema/model/ast_walk.h"
#include "sema/types/size_arithmetic.h"
#include "sema/types/sizes.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::Expr;
using syntax::Extent;

/// Returns whether the extent cannot be checked. This is the case if it is a list, which is reported, or a
/// name whose declaration has an error.
bool IsFaultyWalk(FunctionState& state, const Extent& extent) {
  if (extent.hi->kind == syntax::ExprKind::List) {
    state.diagnostics.Report(diag::ListPlace, extent.hi->span)
        .Help("loop over numbers, as in `for r in 0..n`; only a test loops over a list");
    return true;
  }
  const auto* name = syntax::DynAs<syntax::NameExpr>(extent.hi);
  const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  return entity != nullptr && IsFaulty(*entity);
}

struct Bounds {
  bool ok = false;
  Size domain = nullptr;  ///< set if the bounds are 0..domain
};

Bounds CheckBounds(FunctionState& state, const Extent& extent) {
  bool ok = true;
  bool from_zero = extent.lo == nullptr;
  if (extent.lo != nullptr) {
    ok = !CheckInteger(state, extent.lo, "the bound of a loop").is_error();
    Size lo = state.fn.exprs[extent.lo].size;
    from_zero = ok && lo != nullptr && IsConstant(lo, 0);
  }
  ok = !CheckInteger(state, extent.hi, "the bound of a loop").is_error() && ok;
  Size hi = state.fn.exprs[extent.hi].size;
  if (ok && hi != nullptr && IsConstant(hi) && from_zero && hi->value < 0) {
    state.diagnostics.Report(diag::NegativeSize, extent.hi->span, hi->value);
    return {};
  }
  return {ok, ok && from_zero ? hi : nullptr};
}

std::optional<WalkFacts> CheckBlocks(FunctionState& state, const Extent& extent) {
  if (extent.step != nullptr) {
    state.diagnostics.Report(diag::StepWithBy, extent.step->span);
    return std::nullopt;
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
  if (!ok) return std::nullopt;
  WalkFacts walk;
  walk.blocked = true;
  walk.range = facts;
  return walk;
}

/// Returns the loop that `range(…)` of Python, or a function like it of Numba or Triton, means, or an empty string for
/// another expression.
std::string LoopOfPython(FunctionState& state, const syntax::Expr* expr, std::string_view binder) {
  static constexpr std::string_view kNames[] = {"range", "prange", "static_range", "arange"};
  const auto* call = syntax::DynAs<syntax::CallExpr>(expr);
  if (call == nullptr || call->args.empty() || call->args.size() > 3) return "";
  std::string_view name = call->callee.name.text();
  if (std::ranges::find(kNames, name) == std::end(kNames)) return "";
  std::vector<std::string> args;
  for (const syntax::Arg& arg : call->args) args.push_back(Quote(state, arg.value));
  if (name == "prange" && args.size() == 1)
    return fmt::format("spmd for {}{} by 64", binder, args[0]);
  if (args.size() == 1) return fmt::format("{}0..{}", binder, args[0]);
  return fmt::format("{}{}..{}{}", binder, args[0], args[1],
                     args.size() == 3 ? " step " + args[2] : "");
}

void ReportNoBlocks(FunctionState& state, const Extent& extent, std::string_view name) {
  std::string binder = name.empty() ? "" : fmt::format("{} in ", name);
  std::string size = Quote(state, extent.hi);
  const auto* hi = syntax::DynAs<syntax::NameExpr>(extent.hi);
  const Entity* entity = hi != nullptr ? state.scopes.Find(hi->name) : nullptr;
  Diagnostic& report = state.diagnostics.Report(diag::BinderWithoutBlocks, extent.hi->span, size);
  if (std::string loop = LoopOfPython(state, extent.hi, binder); !loop.empty()) {
    report.Help(fmt::format("write `{}`", loop));
  } else if (entity != nullptr && entity->kind == EntityKind::Domain) {
    report.Help(fmt::format(
        "use a separate loop for the domain, with the other loops inside: `for {}{} {{ … }}`",
        binder, size));
  } else if (SplitRange(state, extent) != nullptr) {
    report.Help(fmt::format(
        "write `{0}{1} by 16` for blocks, `{0}{1} by 1` for blocks of one index", binder, size));
  } else {
    report.Help(fmt::format("write `{0}{1} by 16` for blocks, `{0}0..{1}` for single indices",
                            binder, size));
  }
}

std::optional<WalkFacts> CheckIndices(FunctionState& state, const Extent& extent,
                                      std::string_view name) {
  if (extent.lo == nullptr) {
    ReportNoBlocks(state, extent, name);
    return std::nullopt;
  }
  bool ok = CheckBounds(state, extent).ok;
  if (extent.step != nullptr) {
    ok = !CheckInteger(state, extent.step, "a step").is_error() && ok;
    Size step = state.fn.exprs[extent.step].size;
    if (ok && step != nullptr && IsConstant(step) && !IsBlockSize(step->value)) {
      state.diagnostics.Report(diag::NoBlockSize, extent.step->span, "a step", step->value);
      ok = false;
    }
  }
  if (!ok) return std::nullopt;
  WalkFacts walk;
  walk.lo = extent.lo;
  walk.hi = extent.hi;
  walk.step = extent.step;
  return walk;
}

}  // namespace

bool IsBlockSize(int64_t value) { return value >= 1 && value <= INT32_MAX; }

Size CheckBlockSize(FunctionState& state, const Expr* expr, std::string_view what) {
  bool at_run_time = AnySubexpression(expr, [&](const Expr* inner) {
    const auto* name = syntax::DynAs<syntax::NameExpr>(inner);
    const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
    if (entity == nullptr || IsFaulty(*entity)) return false;
    return entity->kind != EntityKind::Const && entity->kind != EntityKind::IntGeneric &&
           entity->kind != EntityKind::TypeGeneric && entity->kind != EntityKind::Import;
  });
  if (at_run_time) {
    state.diagnostics.Report(diag::BlockSizeNotStatic, expr->span, what, Quote(state, expr))
        .Help("use an integer parameter, for example `BN: int = auto`");
    return nullptr;
  }
  Size size = CheckSize(state, expr, what);
  if (size == nullptr) return nullptr;
  SizeTable& sizes = state.module.sizes;
  std::optional<int64_t> value = ConstantDifference(sizes, size, sizes.Constant(0));
  if (value && !IsBlockSize(*value)) {
    state.diagnostics.Report(diag::NoBlockSize, expr->span, what, *value);
    return nullptr;
  }
  return size;
}

std::optional<WalkFacts> CheckExtent(FunctionState& state, const Extent& extent,
                                     std::string_view name) {
  if (IsFaultyWalk(state, extent)) return std::nullopt;
  return extent.by != nullptr ? CheckBlocks(state, extent) : CheckIndices(state, extent, name);
}

const Entity* SplitRange(FunctionState& state, const Extent& extent) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(extent.hi);
  if (name == nullptr || extent.lo != nullptr) return nullptr;
  const Entity* entity = state.scopes.Find(name->name);
  return entity != nullptr && entity->kind == EntityKind::Range ? entity : nullptr;
}

std::vector<const Expr*> ExtentBounds(const Extent& extent) {
  std::vector<const Expr*> bounds;
  for (const Expr* expr : {extent.lo, extent.hi, extent.step}) {
    if (expr != nullptr) bounds.push_back(expr);
  }
  return bounds;
}

}  // namespace kdl::sema
