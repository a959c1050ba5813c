#include "sema/types/literal_value.h"

#include "sema/walk/expr.h"
#include "support/float_bits.h"

namespace kdl::sema {

namespace {

std::optional<Constant> ConstantValue(FunctionState& state, const syntax::Expr* expr);

/// Returns the integer that is equal modulo 2^n and fits in the type, which has n bits.
Literal Wrap(const Literal& value, Scalar scalar) {
  __int128 period = __int128{1} << Info(scalar).bits;
  __int128 wrapped = ((value.integer % period) + period) % period;
  if (IsSigned(scalar) && wrapped >= period / 2) wrapped -= period;
  return Literal::Int(wrapped);
}

/// Returns the value of a cast whose operand is constant, if it has the type of the cast or is an integer. If the type is a float,
/// an f64 must represent the integer exactly, so that it is rounded only once.
std::optional<Constant> CastValue(FunctionState& state, const syntax::CastExpr& cast) {
  constexpr __int128 kMostExact = __int128{1} << 53;
  std::optional<Constant> operand = ConstantValue(state, cast.operand);
  Scalar scalar = state.fn.exprs[&cast].type.scalar;
  if (!operand || operand->scalar == scalar) return operand;
  if (!IsInteger(operand->scalar)) return std::nullopt;
  if (IsInteger(scalar)) return ToConstant(Wrap(FromConstant(*operand), scalar), scalar);
  if (!IsFloat(scalar)) return std::nullopt;
  __int128 number = FromConstant(*operand).integer;
  if (number > kMostExact || number < -kMostExact) return std::nullopt;
  return Constant{scalar, FloatBits(scalar, static_cast<double>(number))};
}

/// Returns the number of bits of a shift, which is the count modulo the width of the type.
int ShiftCount(const Literal& count, Scalar scalar) {
  int bits = Info(scalar).bits;
  return static_cast<int>((count.integer % bits + bits) % bits);
}

/// Computes as programs do at run time: integers of n bits wrap. Returns nothing for other operators and for a division by 0.
std::optional<Literal> Compute(syntax::BinaryOp op, const Literal& a, const Literal& b,
                               Scalar scalar) {
  using syntax::BinaryOp;
  auto wide = [](const Literal& one) { return static_cast<unsigned __int128>(one.integer); };
  auto wrap = [&](unsigned __int128 bits) {
    return Wrap(Literal::Int(static_cast<__int128>(bits)), scalar);
  };
  switch (op) {
    case BinaryOp::Mul:
      return wrap(wide(a) * wide(b));
    case BinaryOp::Shl:
      return wrap(wide(a) << ShiftCount(b, scalar));
    case BinaryOp::Shr:
      return Literal::Int(a.integer >> ShiftCount(b, scalar));
    default:
      break;
  }
  std::optional<Literal> value = Fold(op, a, b).value;
  return value ? std::optional(Wrap(*value, scalar)) : std::nullopt;
}

/// Returns the value of arithmetic whose operands are constant and have types, such as `i64.max - 1` or `-(0.1 as f32)`. Floats
/// can only be negated.
std::optional<Constant> ArithmeticValue(FunctionState& state, const syntax::Expr* expr) {
  Scalar scalar = state.fn.exprs[expr].type.scalar;
  std::optional<Literal> value;
  if (const auto* unary = syntax::DynAs<syntax::UnaryExpr>(expr)) {
    std::optional<Constant> operand = ConstantValue(state, unary->operand);
    if (operand && unary->op == syntax::UnaryOp::Neg) value = Negate(FromConstant(*operand));
    if (operand && unary->op == syntax::UnaryOp::BitNot) value = Flip(FromConstant(*operand));
    if (value && !value->is_float) value = Wrap(*value, scalar);
  } else if (const auto* binary = syntax::DynAs<syntax::BinaryExpr>(expr)) {
    std::optional<Constant> lhs = ConstantValue(state, binary->lhs);
    std::optional<Constant> rhs = ConstantValue(state, binary->rhs);
    if (lhs && rhs && IsInteger(scalar))
      value = Compute(binary->op, FromConstant(*lhs), FromConstant(*rhs), scalar);
  }
  return value ? ToConstant(*value, scalar) : std::nullopt;
}

/// Returns the value of a constant expression that is a bool, a cast, an element of a table, or arithmetic with these.
std::optional<Constant> ConstantValue(FunctionState& state, const syntax::Expr* expr) {
  std::optional<Constant> value = state.fn.exprs[expr].constant;
  const auto* cast = syntax::DynAs<syntax::CastExpr>(expr);
  if (!value) value = cast != nullptr ? CastValue(state, *cast) : ArithmeticValue(state, expr);
  state.fn.exprs[expr].constant = value;
  return value;
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
  if (type.is_scalar()) value = ConstantValue(state, expr);
  if (value) return ToLiteral(*value);
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
