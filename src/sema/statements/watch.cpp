#include "sema/statements/watch.h"

// Checks statements for debugging: `assert`, `static_assert` and `print`.

#include "sema/model/ast_walk.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"

namespace kdl::sema {

namespace {

constexpr size_t kMostPrintedRanges = 8;  // the maximum rank of a tensor

/// Returns a part of the condition that is known only at run time, or null if there is none.
const syntax::Expr* KnownWhenRun(const FunctionState& state, const syntax::Expr* condition) {
  const syntax::Expr* found = nullptr;
  AnySubexpression(condition, [&](const syntax::Expr* inner) {
    auto info = state.fn.exprs.find(inner);
    if (info == state.fn.exprs.end() || info->second.constant) return false;
    const Entity* entity = info->second.entity;
    bool is_const = entity == nullptr || entity->kind == EntityKind::Const ||
                    entity->kind == EntityKind::IntGeneric;
    bool computes = info->second.callee != nullptr || info->second.index != nullptr ||
                    info->second.pipe != nullptr || info->second.reduce != nullptr;
    bool asks =
        info->second.builtin != nullptr && (info->second.builtin->kind == BuiltinKind::CoreId ||
                                            info->second.builtin->kind == BuiltinKind::CoreNum);
    if (is_const && !computes && !asks) return false;
    found = inner;
    return true;
  });
  return found;
}

}  // namespace

void CheckAssert(FunctionState& state, const syntax::AssertStmt& assertion) {
  std::string_view what =
      assertion.is_static ? "the condition of `static_assert`" : "the condition of `assert`";
  Type type = CheckCondition(state, assertion.condition, what, assertion.is_static);
  if (!assertion.is_static || type.is_error()) return;
  const syntax::Expr* late = KnownWhenRun(state, assertion.condition);
  if (late == nullptr) return;
  state.diagnostics.Report(diag::StaticAssertLate, late->span, Quote(state, late))
      .Help("write `assert`, which is checked at run time");
}

void CheckPrint(FunctionState& state, const syntax::PrintStmt& print) {
  for (const syntax::Expr* value : print.values) {
    if (value->kind == syntax::ExprKind::StringLit) continue;
    Type type = CheckFinalValue(state, value);
    if (type.is_error() || type.ranges.size() <= kMostPrintedRanges) continue;
    state.diagnostics.Report(diag::PrintedRanges, value->span, type.ranges.size())
        .Help("reduce over some ranges, or select one element along them");
  }
}

}  // namespace kdl::sema
