#include "sema/types/literal_value.h"

#include "sema/walk/expr.h"

namespace kdl::sema {

namespace {

/// Returns the value of a constant expression that is a bool or an element of a table.
std::optional<Literal> ConstantValue(FunctionState& state, const syntax::Expr* expr) {
  const std::optional<Constant>& constant = state.fn.exprs[expr].constant;
  if (!constant) return std::nullopt;
  return constant->scalar == Scalar::Bool ? Literal::Int(static_cast<__int128>(constant->bits))
                                          : FromConstant(*constant);
}

}  // namespace

std::optional<Literal> EvaluateLiteral(FunctionState& state, const syntax::Expr* expr,
                                       std::string_view what) {
  Type type = CheckValue(state, expr);
  if (type.is_error()) return std::nullopt;
  auto literal = state.literals.find(expr);
  if (literal != state.literals.end()) return literal->second;
  std::optional<Literal> value;
  if (type.is_scalar()) value = ConstantValue(state, expr);
  if (!value) {
    state.diagnostics.Report(diag::NotConstant, expr->span, what)
        .Help("use only numbers, consts and arithmetic");
  }
  return value;
}

std::optional<int64_t> EvaluateInteger(FunctionState& state, const syntax::Expr* expr,
                                       std::string_view what) {
  std::optional<Literal> literal = EvaluateLiteral(state, expr, what);
  if (!literal) return std::nullopt;
  std::optional<int64_t> value = ToInt64(*literal);
  if (!value) state.diagnostics.Report(diag::NotAnInteger, expr->span, what, ToString(*literal));
  return value;
}

}  // namespace kdl::sema
