#include "driver/run/draw.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/eval/eval.h"
#include "support/float_bits.h"

namespace kdl::driver {

namespace {

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// Returns a multiple of 2^(1 - digits) in [-1, 1). It is exact in every type with at least
/// `digits` bits of precision.
double RandomFraction(uint64_t x, int digits) {
  return std::ldexp(static_cast<double>(x >> (64 - digits)), 1 - digits) - 1;
}

uint64_t Low(uint64_t value, Scalar scalar) {
  return value & ~uint64_t{0} >> (64 - Info(scalar).bits);
}

constexpr uint64_t kSign = uint64_t{1} << 63;

int64_t Uniform(IntegerRange range, uint64_t x) {
  uint64_t width = static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low) + 1;
  return static_cast<int64_t>(static_cast<uint64_t>(range.low) + (width == 0 ? x : x % width));
}

/// Returns a power of two or one of its neighbours, with either sign. If the number is outside the
/// range, returns an end of the range.
int64_t Edge(Scalar scalar, IntegerRange range, uint64_t x) {
  uint64_t power = uint64_t{1} << (x >> 8) % static_cast<uint64_t>(Info(scalar).bits);
  auto half = static_cast<int64_t>(power / 2);
  auto rest = static_cast<int64_t>(power - power / 2);
  int64_t sign = IsSigned(scalar) && (x & 1) != 0 ? -1 : 1;
  int64_t at = Plus(Plus(OrderedInteger(scalar, 0), sign * half), sign * rest);
  at = Plus(at, static_cast<int64_t>((x >> 1) % 3) - 1);
  if (at >= range.low && at <= range.high) return at;
  return (x & 128) != 0 ? range.low : range.high;
}

}  // namespace

uint64_t DrawBits(uint64_t seed, uint64_t n) { return Mix(Mix(seed) + n); }

uint64_t DrawElement(Scalar scalar, uint64_t seed, uint64_t n) {
  uint64_t x = DrawBits(seed, n);
  if (!HasArithmetic(scalar))
    return FloatBits(scalar, std::ldexp(1.0, static_cast<int>(x >> 61) - 4));
  if (IsFloat(scalar))
    return FloatBits(scalar, RandomFraction(x, Info(scalar).format.fraction + 1));
  if (scalar == Scalar::Bool) return x >> 63;
  return IsSigned(scalar) ? Low(x % (2 * kSmallInteger + 1) - kSmallInteger, scalar)
                          : x % (kSmallInteger + 1);
}

void Draw(HostTensor& tensor, uint64_t seed) {
  auto size = static_cast<size_t>(Bytes(tensor.scalar));
  for (size_t n = 0; n < tensor.bytes.size() / size; ++n) {
    SetElementBits(tensor, static_cast<int64_t>(n), DrawElement(tensor.scalar, seed, n));
  }
}

IntegerRange AllIntegers(Scalar scalar) {
  int bits = Info(scalar).bits;
  if (bits == 64) return {INT64_MIN, INT64_MAX};
  int64_t count = int64_t{1} << bits;
  return IsSigned(scalar) ? IntegerRange{-(count / 2), count / 2 - 1} : IntegerRange{0, count - 1};
}

IntegerRange IntegersNear(Scalar scalar, IntegerRange range, int64_t distance) {
  int64_t middle = std::clamp(OrderedInteger(scalar, 0), range.low, range.high);
  return {std::max(range.low, Plus(middle, -distance)),
          std::min(range.high, Plus(middle, distance))};
}

int64_t Plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? INT64_MIN : INT64_MAX;
}

int64_t OrderedInteger(Scalar scalar, uint64_t bits) {
  return scalar == Scalar::U64 ? static_cast<int64_t>(bits ^ kSign) : ir::Extended(scalar, bits);
}

uint64_t IntegerBits(Scalar scalar, int64_t ordered) {
  auto bits = static_cast<uint64_t>(ordered);
  return scalar == Scalar::U64 ? bits ^ kSign : Low(bits, scalar);
}

int64_t DrawInteger(Scalar scalar, IntegerRange range, uint64_t seed, uint64_t n) {
  uint64_t x = DrawBits(seed, n);
  uint64_t y = Mix(x);
  if (x % 4 == 0) return Uniform(IntegersNear(scalar, range, kSmallInteger), y);
  return x % 4 == 1 ? Edge(scalar, range, y) : Uniform(range, y);
}

uint64_t DrawArgumentElement(Scalar scalar, uint64_t seed, uint64_t n) {
  if (!IsInteger(scalar)) return DrawElement(scalar, seed, n);
  return IntegerBits(scalar, DrawInteger(scalar, AllIntegers(scalar), seed, n));
}

void DrawArgument(HostTensor& tensor, uint64_t seed) {
  auto count = static_cast<int64_t>(tensor.bytes.size()) / Bytes(tensor.scalar);
  for (int64_t n = 0; n < count; ++n)
    SetElementBits(tensor, n, DrawArgumentElement(tensor.scalar, seed, static_cast<uint64_t>(n)));
}

}  // namespace kdl::driver
