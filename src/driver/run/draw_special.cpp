#include "driver/run/draw_special.h"

#include <algorithm>

#include "driver/run/draw.h"

namespace kdl::driver {

namespace {

uint64_t LowBits(uint64_t value, Scalar scalar) {
  return value & ~uint64_t{0} >> (64 - Info(scalar).bits);
}

/// Derives small numbers from random bits.
class Digits {
 public:
  explicit Digits(uint64_t drawn) : rest_(drawn) {}
  uint64_t Below(uint64_t count) {
    uint64_t taken = rest_ % count;
    rest_ /= count;
    return taken;
  }
  uint64_t rest() const { return rest_; }

 private:
  uint64_t rest_;
};

/// Returns a fraction of `bits` bits: some random leading bits, followed by the bits of one half or
/// of a neighbour of one half.
uint64_t Halfway(int bits, Digits& drawn) {
  auto cut = static_cast<int>(1 + drawn.Below(static_cast<uint64_t>(bits)));
  uint64_t near = drawn.Below(4);
  uint64_t first = drawn.rest() << cut;
  uint64_t half = uint64_t{1} << (cut - 1);
  return first + half + (near == 1 ? 1 : near == 2 ? ~uint64_t{0} : 0);
}

/// Returns NaN, the smallest or largest power of two, or one near 1 or the ends of integer types.
uint64_t SpecialPower(const FloatFormat& format, Digits drawn) {
  uint64_t ends[] = {0, 1, format.largest() - 1, format.largest(), format.nan()};
  auto bias = static_cast<uint64_t>(format.bias());
  uint64_t kind = drawn.Below(2 * std::size(ends));
  return kind < std::size(ends) ? ends[kind] : bias - 2 + drawn.Below(68);
}

uint64_t SpecialFloat(Scalar scalar, Digits drawn) {
  const FloatFormat& format = Info(scalar).format;
  if (format.has_only_powers()) return SpecialPower(format, drawn);
  int fraction = format.fraction;
  uint64_t one = uint64_t{1} << fraction;  // the value 1 in the exponent field
  uint64_t most = (uint64_t{1} << format.exponent) - 1;
  auto bias = static_cast<uint64_t>(format.bias());
  uint64_t sign = drawn.Below(2) * format.sign();
  switch (drawn.Below(16)) {
    case 0:
    case 1:
      return sign;
    case 2:
      return sign | 1;
    case 3:
      return sign | (one - 1);
    case 4:
      return sign | one;
    case 5:
      return sign | (most * one - 1);
    case 6:
      return sign | most * one;
    case 7:  // a quiet NaN
      return sign | most * one | one >> 1 | drawn.Below(one >> 1);
    case 8:  // a signaling NaN, or infinity if the payload is 0
      return sign | most * one | drawn.Below(one >> 1);
    case 9:
      return sign | drawn.Below(most) * one;
    case 10:
      return sign | (drawn.Below(most) * one + one - 1);
    case 11:
    case 12: {
      constexpr uint64_t kEnds[] = {7, 8, 15, 16, 31, 32, 63, 64};
      uint64_t end = std::min((bias + kEnds[drawn.Below(8)]) * one, most * one - 2);
      return sign | (end + drawn.Below(3) - 1);
    }
    default: {
      uint64_t near = bias - std::min<uint64_t>(bias, 24) + drawn.Below(49);
      uint64_t digits = Halfway(fraction, drawn) & (one - 1);
      return sign | std::min(near, most - 1) * one | digits;
    }
  }
}

uint64_t SpecialInteger(Scalar scalar, Digits drawn) {
  int bits = Info(scalar).bits;
  uint64_t most = ~uint64_t{0} >> (64 - bits + (IsSigned(scalar) ? 1 : 0));
  uint64_t negative = drawn.Below(2);
  uint64_t value = 0;
  switch (drawn.Below(8)) {
    case 0:
      return 0;
    case 1:
      return LowBits(most + 1, scalar);  // the smallest integer of the type
    case 2:
      return LowBits(most + 2, scalar);
    case 3:
      return most;
    case 4:
      return most - 1;
    case 5: {
      uint64_t power = uint64_t{1} << drawn.Below(static_cast<uint64_t>(bits));
      value = power + drawn.Below(3) - 1;
      break;
    }
    case 6:
      value = 1;
      break;
    default:
      value = Halfway(bits - 1, drawn) & most;
      value >>= drawn.Below(2);
      break;
  }
  return LowBits(negative != 0 ? 0 - value : value, scalar);
}

/// Returns a zero or the smallest subnormal number, with either sign.
uint64_t TinyFloat(Scalar scalar, uint64_t drawn) {
  uint64_t sign = drawn % 2 * Info(scalar).format.sign();
  return sign | (drawn / 2 % 8 == 0 ? 1 : 0);
}

uint64_t SpecialBits(Scalar scalar, uint64_t drawn) {
  if (scalar == Scalar::Bool) return drawn % 256;
  return IsFloat(scalar) ? SpecialFloat(scalar, Digits(drawn))
                         : SpecialInteger(scalar, Digits(drawn));
}

}  // namespace

uint64_t SpecialElement(Scalar scalar, bool is_tensor, uint64_t seed, uint64_t n) {
  constexpr uint64_t kOther = 7919;  // a seed whose bits are unrelated to those of `seed`
  uint64_t other = DrawBits(seed + kOther, n);
  if (IsFloat(scalar) && seed % 10 == 0) return TinyFloat(scalar, other);
  bool is_special = (is_tensor || scalar != Scalar::Bool) && DrawBits(seed, n) >> 62 == 0;
  uint64_t bits = is_special ? SpecialBits(scalar, other) : DrawElement(scalar, seed, n);
  bool without_nan = IsFloat(scalar) && seed % 2 == 0;
  return without_nan && IsNaN(scalar, bits) ? DrawElement(scalar, seed, n) : bits;
}

}  // namespace kdl::driver
