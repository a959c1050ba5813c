#include "sema/types/literal_value.h"

#include "sema/walk/expr.h"
#include "support/float_bits.h"

namespace kdl::sema {

namespace {

/// Returns the value of a cast whose operand is constant, if it has the type of the cast or is an integer that an f64 represents
/// exactly, so that it is rounded only once.
std::optional<Constant> CastValue(FunctionState& state, const syntax::CastExpr& cast) {
  constexpr __int128 kMostExact = __int128{1} << 53;
  const std::optional<Constant>& operand = state.fn.exprs[cast.operand].constant;
  Scalar scalar = state.fn.exprs[&cast].type.scalar;
  if (!operand || operand->scalar == scalar) return operand;
  if (!IsInteger(operand->scalar) || !IsFloat(scalar)) return std::nullopt;
  __int128 number = FromConstant(*operand).integer;
  if (number > kMostExact || number < -kMostExact) return std::nullopt;
  return Constant{scalar, FloatBits(scalar, static_cast<double>(number))};
}

/// Returns the value of a constant expression that is a bool, a cast or an element of a table.
std::optional<Literal> ConstantValue(FunctionState& state, const syntax::Expr* expr) {
  std::optional<Constant>& constant = state.fn.exprs[expr].constant;
  const auto* cast = syntax::DynAs<syntax::CastExpr>(expr);
  if (cast != nullptr && !constant) constant = CastValue(state, *cast);
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
