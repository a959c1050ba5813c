#include "sema/expressions/operators.h"

#include <fmt/format.h>

#include <array>

// Checks unary and binary operators. Operations on literals are folded.

#include "sema/functions/library.h"
#include "sema/types/coerce.h"
#include "sema/types/literal_type.h"
#include "sema/types/size_arithmetic.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::BinaryOp;
using syntax::Expr;
using syntax::UnaryOp;

enum class OperatorGroup { Arithmetic, Remainder, Bits, Shift, Order, Equality, Logic };

OperatorGroup OperatorGroupOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::Mul:
    case BinaryOp::Div:
    case BinaryOp::Add:
    case BinaryOp::Sub:
      return OperatorGroup::Arithmetic;
    case BinaryOp::Rem:
      return OperatorGroup::Remainder;
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      return OperatorGroup::Shift;
    case BinaryOp::BitAnd:
    case BinaryOp::BitXor:
    case BinaryOp::BitOr:
      return OperatorGroup::Bits;
    case BinaryOp::Eq:
    case BinaryOp::Ne:
      return OperatorGroup::Equality;
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge:
      return OperatorGroup::Order;
    case BinaryOp::And:
    case BinaryOp::Or:
      return OperatorGroup::Logic;
  }
  return OperatorGroup::Arithmetic;
}

/// Returns a description of the allowed operands, or an empty string if `scalar` is allowed.
std::string_view Wanted(OperatorGroup group, Scalar scalar) {
  if (!HasArithmetic(scalar)) return kArithmetic;
  bool is_bool = scalar == Scalar::Bool;
  switch (group) {
    case OperatorGroup::Arithmetic:
    case OperatorGroup::Remainder:
    case OperatorGroup::Order:
      return is_bool ? "integers or floats" : "";
    case OperatorGroup::Shift:
      return is_bool || IsFloat(scalar) ? "integers" : "";
    case OperatorGroup::Bits:
      return IsFloat(scalar) ? "integers or bools" : "";
    case OperatorGroup::Logic:
      return is_bool ? "" : "bools";
    case OperatorGroup::Equality:
      return "";
  }
  return "";
}

/// Returns the result of an operation on sizes as a size, or null if the operation may trap.
Size OperationSize(FunctionState& state, const syntax::BinaryExpr& binary) {
  Size lhs = state.fn.exprs[binary.lhs].size;
  Size rhs = state.fn.exprs[binary.rhs].size;
  std::optional<SizeKind> kind = SizeKindOf(binary.op);
  if (lhs == nullptr || rhs == nullptr || !kind) return nullptr;
  bool divides = *kind == SizeKind::FloorDiv || *kind == SizeKind::Mod;
  if (divides && (!IsConstant(rhs) || rhs->value == 0)) return nullptr;
  return state.module.sizes.Binary(*kind, lhs, rhs);
}

/// Folds an operation whose operands are both literals.
Type FoldLiterals(FunctionState& state, const syntax::BinaryExpr& binary, ExprInfo& info,
                  const Type& type) {
  auto lhs = state.literals.find(binary.lhs);
  auto rhs = state.literals.find(binary.rhs);
  if (lhs == state.literals.end() || rhs == state.literals.end()) return type;
  Folded folded = Fold(binary.op, lhs->second, rhs->second);
  if (folded.value) return RecordLiteral(state, &binary, info, *folded.value);
  if (!folded.failure) return type;
  switch (*folded.failure) {
    case FoldFailure::DivisionByZero:
      state.diagnostics.Report(diag::DivisionByZero, binary.rhs->span);
      break;
    case FoldFailure::TooLarge:
      state.diagnostics.Report(diag::LiteralTooLarge, binary.span, Quote(state, &binary));
      break;
    case FoldFailure::ShiftCount:
      state.diagnostics.Report(diag::ShiftCount, binary.rhs->span, ToString(rhs->second));
      break;
  }
  return Type{};
}

/// Returns the size, wrapped to the width of the type, or null if the result is known only at run time.
Size WrappedIn(FunctionState& state, const Type& type, Size size) {
  if (size == nullptr || !type.is_value() || !IsInteger(type.scalar)) return size;
  int lost = 64 - Info(type.scalar).bits;
  if (lost == 0) return size;
  if (!IsConstant(size)) return nullptr;
  uint64_t high = static_cast<uint64_t>(size->value) << lost;
  bool is_signed = IsSigned(type.scalar);
  return state.module.sizes.Constant(is_signed ? static_cast<int64_t>(high) >> lost
                                               : static_cast<int64_t>(high >> lost));
}

Type ReportOperand(FunctionState& state, const syntax::BinaryExpr& binary, std::string_view wanted,
                   Scalar found) {
  Diagnostic& report = state.diagnostics.Report(diag::BadOperand, binary.op_span,
                                                Spelling(binary.op), wanted, Spelling(found));
  if (OperatorGroupOf(binary.op) == OperatorGroup::Logic && IsInteger(found)) {
    report.Help("compare with `!= 0`, or use `&` and `|` for bits");
  }
  if (!HasArithmetic(found)) {
    const Expr* typed = state.literals.contains(binary.lhs) ? binary.rhs : binary.lhs;
    report.Help(fmt::format("write '{}'", AsHint(state, typed, Scalar::F32)));
  }
  return Type{};
}

}  // namespace

namespace {

/// Checks `~x`, which needs an integer.
Type CheckFlip(FunctionState& state, const syntax::UnaryExpr& unary, const Type& type,
               ExprInfo& info) {
  bool is_float = type.kind == TypeKind::FloatLiteral || (type.is_value() && IsFloat(type.scalar));
  bool is_bool = type.is_value() && type.scalar == Scalar::Bool;
  if (!is_float && !is_bool) {
    auto literal = state.literals.find(unary.operand);
    bool folds = literal != state.literals.end() && type.is_literal();
    return folds ? RecordLiteral(state, &unary, info, Flip(literal->second)) : type;
  }
  Scalar found = type.is_value() ? type.scalar : Scalar::F32;
  Diagnostic& report = state.diagnostics.Report(diag::BadOperand, unary.span, Spelling(unary.op),
                                                "an integer", Spelling(found));
  report.Help(
      is_bool ? "use `!` to negate a bool"
              : "use `bits(x)` to get the bits of an f32 or f64, and `from_bits` to get the float");
  return Type{};
}

/// Binds `%` of floats to a fn of the library. In contracts, an op computes the remainder instead.
Type BindRemainder(FunctionState& state, const syntax::BinaryExpr& binary, ExprInfo& info,
                   Type type) {
  if (type.kind == TypeKind::FloatLiteral && !state.literals.contains(&binary)) {
    Scalar scalar = state.contract != nullptr ? Scalar::F64 : Scalar::F32;
    if (!Coerce(state, binary.lhs, scalar) || !Coerce(state, binary.rhs, scalar)) return Type{};
    type = ValueType(scalar, type.ranges);
  }
  if (!type.is_value() || !IsFloat(type.scalar)) return type;
  return BindFloatRemainder(state, type.scalar, binary.op_span, info) ? type : Type{};
}

}  // namespace

Type CheckUnary(FunctionState& state, const syntax::UnaryExpr& unary, ExprInfo& info) {
  Type type = CheckValue(state, unary.operand);
  if (type.is_error()) return type;
  if (unary.op == UnaryOp::Not) {
    type = Default(state, unary.operand);
    if (type.is_error() || type.scalar == Scalar::Bool) return type;
    state.diagnostics
        .Report(diag::BadOperand, unary.span, Spelling(unary.op), "a bool", Spelling(type.scalar))
        .Help("compare with `== 0`, or flip the bits with `~`");
    return Type{};
  }
  if (unary.op == UnaryOp::BitNot) return CheckFlip(state, unary, type, info);
  if (type.is_value() && !HasArithmetic(type.scalar)) {
    state.diagnostics
        .Report(diag::BadOperand, unary.span, Spelling(unary.op), kArithmetic,
                Spelling(type.scalar))
        .Help(fmt::format("write '{}'", AsHint(state, unary.operand, Scalar::F32)));
    return Type{};
  }
  auto literal = state.literals.find(unary.operand);
  if (literal != state.literals.end() && type.is_literal()) {
    return RecordLiteral(state, &unary, info, Negate(literal->second));
  }
  if (type.is_value() && type.scalar == Scalar::Bool) {
    state.diagnostics
        .Report(diag::BadOperand, unary.span, Spelling(unary.op), "an integer or a float",
                Spelling(type.scalar))
        .Help("use `!` to negate a bool");
    return Type{};
  }
  if (Size size = state.fn.exprs[unary.operand].size) {
    SizeTable& sizes = state.module.sizes;
    info.size = WrappedIn(state, type, sizes.Binary(SizeKind::Sub, sizes.Constant(0), size));
  }
  return type;
}

Type CheckBinary(FunctionState& state, const syntax::BinaryExpr& binary, ExprInfo& info) {
  CheckValue(state, binary.lhs);
  CheckValue(state, binary.rhs);
  std::array<const Expr*, 2> operands = {binary.lhs, binary.rhs};
  OperatorGroup group = OperatorGroupOf(binary.op);
  for (const Expr* operand : operands) {
    const Type& one = state.fn.exprs[operand].type;
    if (group == OperatorGroup::Logic && one.is_value() && one.scalar != Scalar::Bool)
      return ReportOperand(state, binary, "bools", one.scalar);
  }
  Type type = Unify(state, operands, binary.op_span, Spelling(binary.op));
  if (type.is_error()) return type;
  bool float_like = type.kind == TypeKind::FloatLiteral;
  Scalar scalar = type.is_value() ? type.scalar : float_like ? Scalar::F32 : Scalar::I32;
  std::string_view wanted = Wanted(group, scalar);
  if (!wanted.empty()) return ReportOperand(state, binary, wanted, scalar);
  bool compares = group == OperatorGroup::Order || group == OperatorGroup::Equality;
  if (compares && type.is_literal()) {
    // The type in which two literals are compared matters only because the literals must fit in it.
    for (const Expr* operand : operands) {
      if (!Coerce(state, operand, float_like ? Scalar::F64 : Scalar::I64)) return Type{};
    }
  }
  if (compares || group == OperatorGroup::Logic) return ValueType(Scalar::Bool, type.ranges);
  if (type.is_literal()) type = FoldLiterals(state, binary, info, type);
  if (!type.is_error() && info.size == nullptr)
    info.size = WrappedIn(state, type, OperationSize(state, binary));
  auto divisor = state.literals.find(binary.rhs);
  bool divides = binary.op == BinaryOp::Div || binary.op == BinaryOp::Rem;
  if (divides && type.is_value() && IsInteger(type.scalar) && divisor != state.literals.end() &&
      divisor->second.integer == 0) {
    state.diagnostics.Report(diag::DivisionByZero, binary.rhs->span);
    return Type{};
  }
  return binary.op == BinaryOp::Rem ? BindRemainder(state, binary, info, type) : type;
}

}  // namespace kdl::sema
