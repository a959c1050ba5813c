#include "sema/types/literal_value.h"

#include "sema/types/constant_arithmetic.h"
#include "sema/walk/expr.h"

namespace kdl::sema {

namespace {

std::optional<Constant> WideValue(FunctionState& state, const syntax::Expr* expr);

/// Returns the expression if it is a product of floats that becomes part of a fused multiply-add, otherwise null.
const syntax::BinaryExpr* AsProduct(FunctionState& state, const syntax::Expr* expr) {
  const auto* binary = syntax::DynAs<syntax::BinaryExpr>(expr);
  const ExprInfo& info = state.fn.exprs[expr];
  bool is_product = binary != nullptr && binary->op == syntax::BinaryOp::Mul && !info.constant &&
                    IsFloat(info.type.scalar);
  return is_product ? binary : nullptr;
}

/// Returns the sum of a product and `added`. The product or `added` is subtracted if the flag for it is set.
std::optional<Constant> FusedValue(FunctionState& state, const syntax::BinaryExpr& product,
                                   bool subtracts_product, const syntax::Expr* added,
                                   bool subtracts_added) {
  using syntax::UnaryOp;
  std::optional<Constant> a = WideValue(state, product.lhs);
  std::optional<Constant> b = WideValue(state, product.rhs);
  std::optional<Constant> c = WideValue(state, added);
  if (!a || !b || !c) return std::nullopt;
  return MultiplyAdd(subtracts_product ? Compute(UnaryOp::Neg, *a) : *a, *b,
                     subtracts_added ? Compute(UnaryOp::Neg, *c) : *c);
}

std::optional<Constant> BinaryValue(FunctionState& state, const syntax::BinaryExpr& binary) {
  bool is_difference = binary.op == syntax::BinaryOp::Sub;
  if (is_difference || binary.op == syntax::BinaryOp::Add) {
    if (const auto* product = AsProduct(state, binary.lhs))
      return FusedValue(state, *product, false, binary.rhs, is_difference);
    if (const auto* product = AsProduct(state, binary.rhs))
      return FusedValue(state, *product, is_difference, binary.lhs, false);
  }
  std::optional<Constant> lhs = WideValue(state, binary.lhs);
  std::optional<Constant> rhs = WideValue(state, binary.rhs);
  if (!lhs || !rhs) return std::nullopt;
  std::optional<Constant> value = Compute(binary.op, *lhs, *rhs);
  if (!value) state.diagnostics.Report(diag::DivisionByZero, binary.rhs->span);
  return value;
}

/// Returns the value of an expression of constants with types, as expressions compute it: a value of a narrow float type is
/// an f32. Returns nothing for other expressions.
std::optional<Constant> WideValue(FunctionState& state, const syntax::Expr* expr) {
  const ExprInfo& info = state.fn.exprs[expr];
  if (info.constant) return Widened(*info.constant);
  if (const auto* cast = syntax::DynAs<syntax::CastExpr>(expr)) {
    std::optional<Constant> operand = WideValue(state, cast->operand);
    return operand ? std::optional(Widened(CastTo(*operand, info.type.scalar))) : std::nullopt;
  }
  if (const auto* unary = syntax::DynAs<syntax::UnaryExpr>(expr)) {
    std::optional<Constant> operand = WideValue(state, unary->operand);
    return operand ? std::optional(Compute(unary->op, *operand)) : std::nullopt;
  }
  const auto* binary = syntax::DynAs<syntax::BinaryExpr>(expr);
  return binary != nullptr ? BinaryValue(state, *binary) : std::nullopt;
}

/// Returns the value of such an expression in its type, and records it.
std::optional<Constant> ConstantValue(FunctionState& state, const syntax::Expr* expr) {
  std::optional<Constant> value = WideValue(state, expr);
  ExprInfo& info = state.fn.exprs[expr];
  if (value) info.constant = CastTo(*value, info.type.scalar);
  return info.constant;
}

Literal ToLiteral(const Constant& constant) {
  return constant.scalar == Scalar::Bool ? Literal::Int(static_cast<__int128>(constant.bits))
                                         : FromConstant(constant);
}

}  // namespace

std::optional<Literal> EvaluateLiteral(FunctionState& state, const syntax::Expr* expr,
                                       std::string_view what) {
  Type type = CheckValue(state, expr);
  if (type.is_error()) return std::nullopt;
  auto literal = state.literals.find(expr);
  if (literal != state.literals.end()) return literal->second;
  std::optional<Constant> value;
  size_t errors = state.diagnostics.error_count();
  if (type.is_scalar()) value = ConstantValue(state, expr);
  if (value) return ToLiteral(*value);
  if (state.diagnostics.error_count() != errors) return std::nullopt;
  state.diagnostics.Report(diag::NotConstant, expr->span, what)
      .Help("use only numbers, consts and arithmetic");
  return std::nullopt;
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
