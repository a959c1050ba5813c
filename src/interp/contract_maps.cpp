#include "interp/contract_maps.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "support/check.h"
#include "support/size.h"

namespace kdl::interp {

namespace {

using ir::ContractMap;

ContractValue Rounded(double value, double carried) {
  // An infinity or NaN is not rounded.
  return RealValue(value, std::isfinite(value) ? std::fabs(value) + carried : 0);
}

/// f(x) with the derivative of f there.
ContractValue Of(const ContractValue& x, double value, double derivative) {
  return Rounded(value, ErrorProduct(derivative, x.error));
}

double Larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

ContractValue Elementary(ContractMap map, const ContractValue& x) {
  constexpr double kLn2 = 0.693147180559945309417;
  constexpr double kTwoOverRootPi = 1.12837916709551257390;
  double u = x.real;
  switch (map) {
    case ContractMap::Sqrt:
      return Of(x, std::sqrt(u), 0.5 / std::sqrt(u));
    case ContractMap::Exp:
      return Of(x, std::exp(u), std::exp(u));
    case ContractMap::Exp2:
      return Of(x, std::exp2(u), kLn2 * std::exp2(u));
    case ContractMap::Expm1:
      return Of(x, std::expm1(u), std::exp(u));
    case ContractMap::Log:
      return Of(x, std::log(u), 1 / u);
    case ContractMap::Log2:
      return Of(x, std::log2(u), 1 / (kLn2 * u));
    case ContractMap::Log1p:
      return Of(x, std::log1p(u), 1 / (1 + u));
    case ContractMap::Sin:
      return Of(x, std::sin(u), std::cos(u));
    case ContractMap::Cos:
      return Of(x, std::cos(u), std::sin(u));
    case ContractMap::Tanh:
      return Of(x, std::tanh(u), 1 - std::tanh(u) * std::tanh(u));
    case ContractMap::Erf:
      return Of(x, std::erf(u), kTwoOverRootPi * std::exp(-u * u));
    case ContractMap::Rsqrt:
      return Of(x, 1 / std::sqrt(u), 0.5 / (u * std::sqrt(u)));
    case ContractMap::Sigmoid: {
      double value = u >= 0 ? 1 / (1 + std::exp(-u)) : std::exp(u) / (1 + std::exp(u));
      return Of(x, value, value * (1 - value));
    }
    default:
      KDL_UNREACHABLE();
  }
}

ContractValue Power(const ContractValue& x, const ContractValue& y) {
  double value = std::pow(x.real, y.real);
  double by_x = y.real * std::pow(x.real, y.real - 1);
  double by_y = value * std::log(std::fabs(x.real));
  return Rounded(value, ErrorProduct(by_x, x.error) + ErrorProduct(by_y, y.error));
}

/// floor(a / b) is b's quotient; the remainder has the sign of b.
double FloorRemainder(double a, double b) {
  double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

ContractValue Real(ContractMap map, const ContractValue* v) {
  const ContractValue& x = v[0];
  const ContractValue& y = v[1];
  switch (map) {
    case ContractMap::Neg:
      return RealValue(-x.real, x.error);
    case ContractMap::Abs:
      return RealValue(std::fabs(x.real), x.error);
    case ContractMap::Floor:
      return RealValue(std::floor(x.real), x.error);
    case ContractMap::Ceil:
      return RealValue(std::ceil(x.real), x.error);
    case ContractMap::Round:
      return RealValue(std::nearbyint(x.real), x.error);
    case ContractMap::Add:
      return Rounded(x.real + y.real, x.error + y.error);
    case ContractMap::Sub:
      return Rounded(x.real - y.real, x.error + y.error);
    case ContractMap::Mul:
      return Rounded(x.real * y.real,
                     ErrorProduct(y.real, x.error) + ErrorProduct(x.real, y.error));
    case ContractMap::Div:
      return Rounded(x.real / y.real, ErrorProduct(1 / y.real, x.error) +
                                          ErrorProduct(x.real / (y.real * y.real), y.error));
    case ContractMap::Rem:
      return Rounded(FloorRemainder(x.real, y.real), x.error + y.error);
    case ContractMap::Fma:
      return Rounded(std::fma(x.real, y.real, v[2].real),
                     ErrorProduct(y.real, x.error) + ErrorProduct(x.real, y.error) + v[2].error);
    case ContractMap::Max:
      return RealValue(Larger(x.real, y.real), std::max(x.error, y.error));
    case ContractMap::Min:
      return RealValue(-Larger(-x.real, -y.real), std::max(x.error, y.error));
    case ContractMap::Pow:
      return Power(x, y);
    default:
      return Elementary(map, x);
  }
}

bool IsU64(Scalar scalar) { return scalar == Scalar::U64; }

template <class T>
bool Compare(ContractMap map, T x, T y) {
  switch (map) {
    case ContractMap::Eq:
      return x == y;
    case ContractMap::Ne:
      return x != y;
    case ContractMap::Lt:
      return x < y;
    case ContractMap::Le:
      return x <= y;
    case ContractMap::Gt:
      return x > y;
    case ContractMap::Ge:
      return x >= y;
    default:
      KDL_UNREACHABLE("no map of bools");
  }
}

/// Where u64 is not computed as i64 is.
int64_t Unsigned(ContractMap map, uint64_t x, uint64_t y) {
  switch (map) {
    case ContractMap::Div:
      return static_cast<int64_t>(x / y);
    case ContractMap::Rem:
      return static_cast<int64_t>(x % y);
    case ContractMap::Shr:
      return static_cast<int64_t>(x >> (y & 63));
    case ContractMap::Max:
      return static_cast<int64_t>(std::max(x, y));
    case ContractMap::Min:
      return static_cast<int64_t>(std::min(x, y));
    default:
      return Compare(map, x, y) ? 1 : 0;
  }
}

bool DependsOnSign(ContractMap map) {
  return map == ContractMap::Div || map == ContractMap::Rem || map == ContractMap::Shr ||
         map == ContractMap::Max || map == ContractMap::Min ||
         (map >= ContractMap::Eq && map <= ContractMap::Ge);
}

/// In 64 bits, still to be wrapped.
int64_t Integer(ContractMap map, Scalar scalar, int64_t x, int64_t y) {
  auto a = static_cast<uint64_t>(x);
  auto b = static_cast<uint64_t>(y);
  auto count = b & static_cast<uint64_t>(Info(scalar).bits - 1);  // of a shift
  if (IsU64(scalar) && DependsOnSign(map)) return Unsigned(map, a, b);
  switch (map) {
    case ContractMap::Neg:
      return static_cast<int64_t>(0 - a);
    case ContractMap::Abs:
      return x < 0 ? static_cast<int64_t>(0 - a) : x;
    case ContractMap::Not:
      return static_cast<int64_t>(~a);
    case ContractMap::Add:
      return static_cast<int64_t>(a + b);
    case ContractMap::Sub:
      return static_cast<int64_t>(a - b);
    case ContractMap::Mul:
      return static_cast<int64_t>(a * b);
    case ContractMap::Div:
      return FloorDivide(x, y);
    case ContractMap::Rem:
      return FloorModulo(x, y);
    case ContractMap::Shl:
      return static_cast<int64_t>(a << count);
    case ContractMap::Shr:
      return x >> count;
    case ContractMap::And:
      return x & y;
    case ContractMap::Xor:
      return x ^ y;
    case ContractMap::Or:
      return x | y;
    case ContractMap::Max:
      return std::max(x, y);
    case ContractMap::Min:
      return std::min(x, y);
    default:
      return Compare(map, x, y) ? 1 : 0;
  }
}

/// Truncated and saturated; NaN is 0.
int64_t Truncated(Scalar to, double value) {
  int bits = Info(to).bits - (IsSigned(to) ? 1 : 0);
  double limit = std::ldexp(1.0, bits);
  if (std::isnan(value)) return 0;
  if (value >= limit) return bits == 64 ? -1 : static_cast<int64_t>((uint64_t{1} << bits) - 1);
  if (!IsSigned(to)) return value < 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(value));
  return value < -limit ? -static_cast<int64_t>((uint64_t{1} << bits) - 1) - 1
                        : static_cast<int64_t>(value);
}

ContractValue Cast(Scalar from, Scalar to, const ContractValue& x) {
  if (IsFloat(from) && IsFloat(to)) return x;
  if (IsFloat(to)) {
    auto value = IsU64(from) ? static_cast<double>(static_cast<uint64_t>(x.integer))
                             : static_cast<double>(x.integer);
    return RealValue(value, from == Scalar::Bool ? 0 : std::fabs(value));
  }
  if (to == Scalar::Bool)
    return IntegerValue((IsFloat(from) ? x.real != 0 : x.integer != 0) ? 1 : 0);
  return IntegerValue(IsFloat(from) ? Truncated(to, x.real) : Wrapped(to, x.integer));
}

}  // namespace

ContractValue RealValue(double real, double error) { return {real, 0, error}; }
ContractValue IntegerValue(int64_t integer) { return {0, integer, 0}; }

double ErrorProduct(double derivative, double error) {
  return error == 0 ? 0 : std::fabs(derivative) * error;
}

int64_t Wrapped(Scalar scalar, int64_t value) {
  int unused = 64 - Info(scalar).bits;
  if (unused == 0 || scalar == Scalar::Bool) return value;
  auto shifted = static_cast<uint64_t>(value) << unused;
  return IsSigned(scalar) ? static_cast<int64_t>(shifted) >> unused
                          : static_cast<int64_t>(shifted >> unused);
}

ContractValue PatternOf(Scalar scalar, const ContractValue& value) {
  if (scalar == Scalar::F64) {
    constexpr int64_t kNaN = 0x7FF8000000000000;
    return IntegerValue(std::isnan(value.real) ? kNaN : std::bit_cast<int64_t>(value.real));
  }
  constexpr int32_t kNaN = 0x7FC00000;
  auto narrow = static_cast<float>(value.real);
  return IntegerValue(std::isnan(narrow) ? kNaN : std::bit_cast<int32_t>(narrow));
}

ContractValue OfPattern(Scalar integer, const ContractValue& pattern) {
  if (integer == Scalar::I64) return RealValue(std::bit_cast<double>(pattern.integer), 0);
  auto narrow = std::bit_cast<float>(static_cast<int32_t>(pattern.integer));
  return RealValue(static_cast<double>(narrow), 0);
}

ContractValue EvaluateMap(ContractMap map, Scalar operand, Scalar result, const ContractValue* v) {
  if (map == ContractMap::Cast) return Cast(operand, result, v[0]);
  if (IsFloat(result)) return Real(map, v);
  if (IsFloat(operand)) return IntegerValue(Compare(map, v[0].real, v[1].real) ? 1 : 0);
  if (operand == Scalar::Bool && map == ContractMap::Not) return IntegerValue(1 - v[0].integer);
  return IntegerValue(Wrapped(result, Integer(map, operand, v[0].integer, v[1].integer)));
}

}  // namespace kdl::interp
