#include "sema/expressions/casts.h"

#include <fmt/format.h>

// Checks casts, such as `x as f16`.

#include "sema/types/coerce.h"
#include "sema/walk/expr.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::Expr;

/// Checks the operand of a cast. A literal gets the target type directly if its value fits. A size whose
/// value is not known is first converted to i64.
Type CheckCastOperand(FunctionState& state, const Expr* operand, Scalar target) {
  const ExprInfo& info = state.fn.exprs[operand];
  if (!info.type.is_literal()) return info.type;
  bool same_group = IsFloat(target) == (info.type.kind == TypeKind::FloatLiteral);
  auto literal = state.literals.find(operand);
  if (IsFloat(target) && !same_group && Floors(state, operand)) {
    Coerce(state, operand, Scalar::I64);
  } else if (literal != state.literals.end()) {
    if (ToConstant(literal->second, target)) {
      Coerce(state, operand, target);
    } else if (!literal->second.is_float) {
      Coerce(state, operand, ToInt64(literal->second) ? Scalar::I64 : Scalar::U64);
    }
  } else if (same_group && target != Scalar::Bool) {
    Coerce(state, operand, target);
  } else if (info.type.kind == TypeKind::IntLiteral) {
    Coerce(state, operand, Scalar::I64);
  }
  return Default(state, operand);
}

/// Checks `x as tf32`, whose result is an f32.
Type CheckTf32(FunctionState& state, const syntax::CastExpr& cast) {
  if (state.fn.exprs[cast.operand].type.is_error()) return Type{};
  if (!state.dot_operands.contains(&cast)) {
    state.diagnostics.Report(diag::Tf32Outside, cast.type.span)
        .Help("write dot(a as tf32, b as tf32 over k)");
    return Type{};
  }
  Scalar scalar = state.contract != nullptr ? Scalar::F64 : Scalar::F32;
  if (!Fits(state, cast.operand, scalar)) {
    state.diagnostics
        .Report(diag::BadOperand, cast.span, "as tf32", "an f32",
                Spelling(state.fn.exprs[cast.operand].type.scalar))
        .Help(fmt::format("write '({}) as tf32'", AsHint(state, cast.operand, Scalar::F32)));
    return Type{};
  }
  return ValueType(scalar, state.fn.exprs[cast.operand].type.ranges);
}

/// Returns how many bits the absolute values of an integer have, or how many binary digits every integer of a float type has.
int Digits(Scalar scalar) {
  const ScalarInfo& info = Info(scalar);
  if (IsFloat(scalar)) return info.format.fraction + 1;
  return info.bits - (IsSigned(scalar) ? 1 : 0);
}

/// Whether a value of type `from` may change when it is cast to the type `to`.
bool MayChange(Scalar from, Scalar to) {
  if (from == to || from == Scalar::Bool) return false;
  if (to == Scalar::Bool) return true;
  if (!IsFloat(from))
    return Digits(from) > Digits(to) || (IsSigned(from) && !IsFloat(to) && !IsSigned(to));
  if (!IsFloat(to)) return true;
  return Digits(from) > Digits(to) || Info(from).format.exponent > Info(to).format.exponent;
}

}  // namespace

bool IsTf32(const syntax::CastExpr& cast) { return syntax::PlainName(cast.type).text() == "tf32"; }

Type CheckCast(FunctionState& state, const syntax::CastExpr& cast, ExprInfo& info) {
  Type type = CheckValue(state, cast.operand);
  if (IsTf32(cast)) return CheckTf32(state, cast);
  std::optional<Scalar> target = ResolveScalar(state, cast.type);
  if (type.is_error() || !target) return Type{};
  if (state.contract != nullptr && *target != Scalar::Bool) {
    info.pattern = *target;
    target = Seen(state, *target);
  }
  type = CheckCastOperand(state, cast.operand, *target);
  if (type.is_error()) return type;
  bool is_own = state.contract == nullptr && !state.fn.imported;
  if (is_own && MayChange(type.scalar, *target))
    state.diagnostics.Report(diag::LossyCast, cast.span, Spelling(type.scalar), Spelling(*target));
  return ValueType(*target, type.ranges);
}

}  // namespace kdl::sema
