#include "sema/model/literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "support/check.h"
#include "support/float_bits.h"
#include "support/parse_number.h"

namespace kdl::sema {

namespace {

using syntax::BinaryOp;

constexpr __int128 kMin = std::numeric_limits<int64_t>::min();
constexpr __int128 kMax = std::numeric_limits<uint64_t>::max();

/// Returns the value of type Float that is nearest to a decimal number, or infinity if the number is out of
/// range.
template <class Float>
Float Parse(std::string_view text) {
  return ParseNumber<Float>(text).value_or(std::numeric_limits<Float>::infinity());
}

template <class Bits, class Float>
Constant FloatConstant(Scalar scalar, Float value) {
  return {scalar, std::bit_cast<Bits>(value)};
}

Constant RoundReal(double value, Scalar scalar) { return {scalar, FloatBits(scalar, value)}; }

double ConstantAsDouble(const Constant& constant) {
  return FloatValue(constant.scalar, constant.bits);
}

Constant RoundText(const Literal& literal, Scalar scalar) {
  double magnitude = 0;
  if (scalar == Scalar::F32) {
    magnitude = Parse<float>(literal.text);
  } else if (scalar == Scalar::F64) {
    magnitude = Parse<double>(literal.text);
  } else {
    magnitude = ParseToOdd(literal.text).value_or(std::numeric_limits<double>::infinity());
  }
  return RoundReal(literal.negative ? -magnitude : magnitude, scalar);
}

std::optional<Constant> FloatToConstant(const Literal& literal, Scalar scalar) {
  if (std::isnan(literal.real)) return Constant{scalar, CanonicalNan(scalar)};
  bool exact_text = !literal.text.empty();
  if (!exact_text && std::isinf(literal.real)) return RoundReal(literal.real, scalar);
  Constant constant = exact_text ? RoundText(literal, scalar) : RoundReal(literal.real, scalar);
  bool is_beyond = std::isinf(ConstantAsDouble(constant)) || IsBeyond(scalar, literal.real);
  return is_beyond ? std::nullopt : std::optional(constant);
}

std::optional<Constant> IntegerToFloat(__int128 value, Scalar scalar) {
  auto real = static_cast<double>(value);
  if (static_cast<__int128>(real) != value) return std::nullopt;
  Constant constant = RoundReal(real, scalar);
  if (ConstantAsDouble(constant) != real) return std::nullopt;
  return constant;
}

std::optional<Constant> IntegerToInteger(__int128 value, Scalar scalar, bool flipped) {
  int bits = Info(scalar).bits;
  bool is_signed = IsSigned(scalar);
  if (flipped && !is_signed && value < 0) value += static_cast<__int128>(1) << bits;
  __int128 high = (static_cast<__int128>(1) << (is_signed ? bits - 1 : bits)) - 1;
  __int128 low = is_signed ? -high - 1 : 0;
  if (value < low || value > high) return std::nullopt;
  uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return Constant{scalar, static_cast<uint64_t>(value) & mask};
}

__int128 FloorQuotient(__int128 a, __int128 b) {
  __int128 quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// Returns the product, or a value above kMax if the product overflows.
__int128 Product(__int128 a, __int128 b) {
  __int128 product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMax + 1 : product;
}

std::optional<__int128> FoldIntegers(BinaryOp op, __int128 a, __int128 b) {
  switch (op) {
    case BinaryOp::Add:
      return a + b;
    case BinaryOp::Sub:
      return a - b;
    case BinaryOp::Mul:
      return Product(a, b);
    case BinaryOp::Div:
      return FloorQuotient(a, b);
    case BinaryOp::Rem:
      return a - b * FloorQuotient(a, b);
    case BinaryOp::Shl:
      return Product(a, static_cast<__int128>(1) << static_cast<int>(b));
    case BinaryOp::Shr:
      return FloorQuotient(a, static_cast<__int128>(1) << static_cast<int>(b));
    case BinaryOp::BitAnd:
      return a & b;
    case BinaryOp::BitOr:
      return a | b;
    case BinaryOp::BitXor:
      return a ^ b;
    case BinaryOp::Eq:  // these do not return numbers
    case BinaryOp::Ne:
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge:
    case BinaryOp::And:
    case BinaryOp::Or:
      break;
  }
  return std::nullopt;
}

std::optional<double> FoldReals(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::Add:
      return a + b;
    case BinaryOp::Sub:
      return a - b;
    case BinaryOp::Mul:
      return a * b;
    case BinaryOp::Div:
      return a / b;
    case BinaryOp::Rem:
      return std::fmod(a, b);
    default:
      return std::nullopt;
  }
}

/// Returns whether the low bits of the result depend only on the low bits of the operands.
bool KeepsLowBits(BinaryOp op) {
  return op == BinaryOp::BitAnd || op == BinaryOp::BitOr || op == BinaryOp::BitXor ||
         op == BinaryOp::Shl;
}

}  // namespace

Literal Literal::Int(__int128 value) {
  Literal literal;
  literal.integer = value;
  return literal;
}

Literal Literal::Real(double value) {
  Literal literal;
  literal.is_float = true;
  literal.real = value;
  return literal;
}

Literal FromAst(const syntax::IntLit& lit) { return Literal::Int(lit.value); }

Literal FromAst(const syntax::FloatLit& lit) {
  Literal literal = Literal::Real(lit.value);
  if (lit.text != "inf" && lit.text != "nan") literal.text = lit.text;
  return literal;
}

Literal FromConstant(const Constant& constant) {
  if (IsFloat(constant.scalar)) return Literal::Real(ConstantAsDouble(constant));
  int unused = 64 - Info(constant.scalar).bits;
  if (!IsSigned(constant.scalar)) return Literal::Int(constant.bits);
  return Literal::Int(static_cast<int64_t>(constant.bits << unused) >> unused);
}

Literal Negate(const Literal& value) {
  Literal result = value;
  result.integer = -value.integer;
  result.real = -value.real;
  result.negative = !value.negative;
  return result;
}

Literal Flip(const Literal& value) {
  Literal result = Literal::Int(-value.integer - 1);
  result.flipped = result.integer < 0;
  return result;
}

Folded Fold(BinaryOp op, const Literal& a, const Literal& b) {
  if (a.is_float || b.is_float) {
    std::optional<double> real = FoldReals(op, a.AsReal(), b.AsReal());
    return {real ? std::optional(Literal::Real(*real)) : std::nullopt, std::nullopt};
  }
  bool divides = op == BinaryOp::Div || op == BinaryOp::Rem;
  if (divides && b.integer == 0) return {std::nullopt, FoldFailure::DivisionByZero};
  bool shifts = op == BinaryOp::Shl || op == BinaryOp::Shr;
  if (shifts && (b.integer < 0 || b.integer > 63)) return {std::nullopt, FoldFailure::ShiftCount};
  std::optional<__int128> value = FoldIntegers(op, a.integer, b.integer);
  if (!value) return {};
  if (*value < kMin || *value > kMax) return {std::nullopt, FoldFailure::TooLarge};
  Literal literal = Literal::Int(*value);
  bool has_rest = op == BinaryOp::Div && a.integer % b.integer != 0;
  literal.floored = has_rest || a.floored || b.floored;
  literal.flipped = KeepsLowBits(op) && (a.flipped || b.flipped);
  return {literal, std::nullopt};
}

std::optional<Constant> ToConstant(const Literal& literal, Scalar scalar) {
  if (scalar == Scalar::Bool) return std::nullopt;
  if (!IsFloat(scalar)) {
    return literal.is_float ? std::nullopt
                            : IntegerToInteger(literal.integer, scalar, literal.flipped);
  }
  return literal.is_float ? FloatToConstant(literal, scalar)
                          : IntegerToFloat(literal.integer, scalar);
}

std::optional<int64_t> ToInt64(const Literal& literal) {
  if (literal.is_float || literal.integer < kMin ||
      literal.integer > std::numeric_limits<int64_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int64_t>(literal.integer);
}

std::string ToString(const Literal& literal) {
  if (literal.is_float) {
    if (literal.text.empty()) return fmt::format("{}", literal.real);
    return fmt::format("{}{}", literal.negative ? "-" : "", literal.text);
  }
  bool negative = literal.integer < 0;
  unsigned __int128 rest = negative ? -static_cast<unsigned __int128>(literal.integer)
                                    : static_cast<unsigned __int128>(literal.integer);
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  return negative ? "-" + digits : digits;
}

}  // namespace kdl::sema
