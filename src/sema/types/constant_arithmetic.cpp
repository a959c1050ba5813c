#include "sema/types/constant_arithmetic.h"

#include <cmath>
#include <limits>

#include "sema/model/literal.h"
#include "support/check.h"
#include "support/float_bits.h"

namespace kdl::sema {

namespace {

using syntax::BinaryOp;
using syntax::UnaryOp;

Constant Bool(bool value) { return {Scalar::Bool, value ? uint64_t{1} : 0}; }

double RealOf(const Constant& value) { return FloatValue(value.scalar, value.bits); }

Constant Real(Scalar scalar, double value) {
  return {scalar, std::isnan(value) ? CanonicalNan(scalar) : FloatBits(scalar, value)};
}

/// Returns the value of an integer, or 0 or 1 for a bool.
__int128 IntegerOf(const Constant& value) {
  return value.scalar == Scalar::Bool ? static_cast<__int128>(value.bits)
                                      : FromConstant(value).integer;
}

uint64_t MaskOf(Scalar scalar) {
  return std::numeric_limits<uint64_t>::max() >> (64 - Info(scalar).bits);
}

/// Returns the integer that is equal modulo 2^n and fits in the type, which has n bits.
Constant Wrapped(Scalar scalar, unsigned __int128 value) {
  return {scalar, static_cast<uint64_t>(value) & MaskOf(scalar)};
}

/// Truncates to an integer; a value out of range becomes the nearest integer that fits, and NaN becomes 0.
Constant Truncated(Scalar scalar, double value) {
  uint64_t mask = MaskOf(scalar);
  uint64_t most = IsSigned(scalar) ? mask >> 1 : mask;
  uint64_t least = IsSigned(scalar) ? most + 1 : 0;
  if (std::isnan(value)) return {scalar, 0};
  value = std::trunc(value);
  if (value >= std::ldexp(1.0, Info(scalar).bits - (IsSigned(scalar) ? 1 : 0)))
    return {scalar, most};
  if (value < (IsSigned(scalar) ? -std::ldexp(1.0, Info(scalar).bits - 1) : 0.0))
    return {scalar, least};
  return Wrapped(scalar, static_cast<unsigned __int128>(static_cast<__int128>(value)));
}

/// Rounds an integer once.
Constant Rounded(Scalar scalar, const Constant& integer) {
  __int128 value = IntegerOf(integer);
  if (scalar == Scalar::F64) return Real(scalar, static_cast<double>(value));
  return Real(scalar, value < 0 ? F64FromI64Sticky(static_cast<int64_t>(value))
                                : F64FromU64Sticky(static_cast<uint64_t>(value)));
}

/// Compares two values; nothing for other operators.
template <class T>
std::optional<Constant> Compared(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::Eq:
      return Bool(a == b);
    case BinaryOp::Ne:
      return Bool(a != b);
    case BinaryOp::Lt:
      return Bool(a < b);
    case BinaryOp::Le:
      return Bool(a <= b);
    case BinaryOp::Gt:
      return Bool(a > b);
    case BinaryOp::Ge:
      return Bool(a >= b);
    default:
      return std::nullopt;
  }
}

/// Computes in f64. For f32, rounding the result once more gives the same as one operation in f32, because an f64 has more
/// than twice as many digits.
std::optional<Constant> ComputeReals(BinaryOp op, Scalar scalar, double a, double b) {
  switch (op) {
    case BinaryOp::Add:
      return Real(scalar, a + b);
    case BinaryOp::Sub:
      return Real(scalar, a - b);
    case BinaryOp::Mul:
      return Real(scalar, a * b);
    case BinaryOp::Div:
      return Real(scalar, a / b);
    case BinaryOp::Rem:
      return Real(scalar, std::fmod(a, b));
    default:
      return Compared(op, a, b);
  }
}

std::optional<Constant> ComputeIntegers(BinaryOp op, Scalar scalar, const Constant& a,
                                        const Constant& b) {
  // Only the low 64 bits of sums, products and shifts matter, so they are computed without signs.
  __int128 left = IntegerOf(a);
  __int128 right = IntegerOf(b);
  auto low = [](__int128 value) { return static_cast<uint64_t>(value); };
  int width = Info(scalar).bits;
  auto count = static_cast<int>(low(right) % static_cast<uint64_t>(width));
  switch (op) {
    case BinaryOp::Add:
      return Wrapped(scalar, low(left) + low(right));
    case BinaryOp::Sub:
      return Wrapped(scalar, low(left) - low(right));
    case BinaryOp::Mul:
      return Wrapped(scalar, low(left) * low(right));
    case BinaryOp::Shl:
      return Wrapped(scalar, low(left) << count);
    case BinaryOp::Shr:
      return Wrapped(scalar, static_cast<unsigned __int128>(left >> count));
    case BinaryOp::BitAnd:
      return Wrapped(scalar, low(left) & low(right));
    case BinaryOp::BitOr:
      return Wrapped(scalar, low(left) | low(right));
    case BinaryOp::BitXor:
      return Wrapped(scalar, low(left) ^ low(right));
    case BinaryOp::Div:
    case BinaryOp::Rem: {
      std::optional<Literal> value = Fold(op, Literal::Int(left), Literal::Int(right)).value;
      if (!value) return std::nullopt;
      return Wrapped(scalar, static_cast<unsigned __int128>(value->integer));
    }
    default:
      return Compared(op, left, right);
  }
}

std::optional<Constant> ComputeBools(BinaryOp op, bool a, bool b) {
  switch (op) {
    case BinaryOp::And:
    case BinaryOp::BitAnd:
      return Bool(a && b);
    case BinaryOp::Or:
    case BinaryOp::BitOr:
      return Bool(a || b);
    case BinaryOp::BitXor:
      return Bool(a != b);
    default:
      return Compared(op, a, b);
  }
}

}  // namespace

Constant Widened(const Constant& value) {
  return IsNarrowFloat(value.scalar) ? CastTo(value, Scalar::F32) : value;
}

Constant CastTo(const Constant& value, Scalar scalar) {
  if (value.scalar == scalar) return value;
  bool from_float = IsFloat(value.scalar);
  if (scalar == Scalar::Bool) return Bool(from_float ? RealOf(value) != 0 : value.bits != 0);
  if (from_float && IsFloat(scalar)) return Real(scalar, RealOf(value));
  if (from_float) return Truncated(scalar, RealOf(value));
  if (IsFloat(scalar)) return Rounded(scalar, value);
  return Wrapped(scalar, static_cast<unsigned __int128>(IntegerOf(value)));
}

Constant Compute(UnaryOp op, const Constant& value) {
  if (value.scalar == Scalar::Bool) return Bool(value.bits == 0);
  if (IsFloat(value.scalar)) {
    Constant wide = Widened(value);
    return Real(wide.scalar, -RealOf(wide));
  }
  return Wrapped(value.scalar, op == UnaryOp::Neg ? 0 - value.bits : ~value.bits);
}

std::optional<Constant> Compute(BinaryOp op, const Constant& a, const Constant& b) {
  Constant left = Widened(a);
  Constant right = Widened(b);
  KDL_CHECK(left.scalar == right.scalar, "operands of {} and {}", Spelling(left.scalar),
            Spelling(right.scalar));
  if (IsFloat(left.scalar)) return ComputeReals(op, left.scalar, RealOf(left), RealOf(right));
  if (left.scalar == Scalar::Bool) return ComputeBools(op, left.bits != 0, right.bits != 0);
  return ComputeIntegers(op, left.scalar, left, right);
}

Constant MultiplyAdd(const Constant& a, const Constant& b, const Constant& c) {
  Constant left = Widened(a);
  double fused = left.scalar == Scalar::F32
                     ? std::fma(static_cast<float>(RealOf(a)), static_cast<float>(RealOf(b)),
                                static_cast<float>(RealOf(Widened(c))))
                     : std::fma(RealOf(a), RealOf(b), RealOf(c));
  return Real(left.scalar, fused);
}

}  // namespace kdl::sema
