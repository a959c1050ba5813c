#include "sema/statements/returns.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "sema/model/ast_walk.h"
#include "sema/types/coerce.h"
#include "sema/types/tuples.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::Stmt;
using syntax::StmtKind;

void CheckReturnRanges(FunctionState& state, const syntax::ReturnStmt& stmt) {
  const Type& type = state.fn.exprs[stmt.value].type;
  std::vector<const Entity*> missing = Missing(type.ranges, state.fn.result.ranges);
  if (missing.empty()) return;
  state.diagnostics
      .Report(diag::ReturnRanges, stmt.value->span, RangesText(missing),
              state.fn.item->name.name.text(), ToString(state.fn.result))
      .Help(fmt::format("reduce the value, for example {}, or add its ranges to the result type",
                        ReducedText(state, stmt.value, missing)));
}

void CheckReturnedTuple(FunctionState& state, const syntax::ReturnStmt& stmt) {
  const Type& result = state.fn.result;
  bool tuples = result.is_tuple() && state.fn.exprs[stmt.value].type.is_tuple();
  if (tuples && FitsType(state, stmt.value, result)) return CheckReturnRanges(state, stmt);
  state.diagnostics.Report(diag::TupleParts, stmt.value->span, Quote(state, stmt.value),
                           ToString(state.fn.exprs[stmt.value].type), ToString(result));
}

}  // namespace

void CheckReturn(FunctionState& state, const syntax::ReturnStmt& stmt) {
  if (stmt.value == nullptr) {
    state.diagnostics.Report(diag::ReturnWithoutValue, stmt.span);
    return;
  }
  Type type = CheckAny(state, stmt.value);
  const Type& result = state.fn.result;
  if (result.kind == TypeKind::Nothing) {
    state.diagnostics.Report(diag::ReturnFromPipeFn, stmt.span, state.fn.item->name.name.text())
        .Help("push the value into a pipe, or remove the statement");
    return;
  }
  if (type.is_error() || result.is_error()) return;
  if (type.is_tuple() || result.is_tuple()) return CheckReturnedTuple(state, stmt);
  if (Fits(state, stmt.value, result.scalar)) return CheckReturnRanges(state, stmt);
  state.diagnostics
      .Report(diag::ReturnType, stmt.value->span, state.fn.item->name.name.text(),
              Spelling(result.scalar), Spelling(type.scalar))
      .Help(fmt::format("write '{}'", AsHint(state, stmt.value, result.scalar)));
}

void CheckLastReturn(FunctionState& state) {
  const syntax::BlockStmt& body = *state.fn.item->body;
  const Stmt* last = body.stmts.empty() ? nullptr : body.stmts.back();
  if (syntax::DynAs<syntax::ReturnStmt>(last) == nullptr && state.fn.item->result != nullptr) {
    Span end = body.span;
    end.begin = end.end > 0 ? end.end - 1 : 0;
    state.diagnostics.Report(diag::MissingReturn, end, state.fn.item->name.name.text());
  }
}

namespace {

void ReportReturnsInside(FunctionState& state, const Stmt* stmt) {
  if (stmt->kind == StmtKind::Return) {
    state.diagnostics.Report(diag::EarlyReturn, stmt->span)
        .Help("keep the result in a `var`, or choose it with `if c then a else b`");
  }
  ForEachInside(stmt, [&](const Stmt* inner) { ReportReturnsInside(state, inner); });
}

}  // namespace

void CheckEarlyReturn(FunctionState& state) {
  const std::vector<const Stmt*>& stmts = state.fn.item->body->stmts;
  for (const Stmt* stmt : stmts) {
    if (stmt != stmts.back() || stmt->kind != StmtKind::Return) ReportReturnsInside(state, stmt);
  }
}

}  // namespace kdl::sema
