#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "drivers/ptx_machine.h"
#include "drivers/ptx_values.h"

// Implements the instructions that only compute a value.

namespace ptx {

namespace {

template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;

template <class T>
T Least(T a, T b, bool nan) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return nan ? a : b;
    if (std::isnan(b)) return nan ? b : a;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}
template <class T>
T Most(T a, T b, bool nan) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return nan ? a : b;
    if (std::isnan(b)) return nan ? b : a;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}

template <class T>
std::uint64_t Arithmetic(const Instruction& i, std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  const T a = As<T>(x);
  const T b = As<T>(y);
  if constexpr (std::is_floating_point_v<T>) {
    switch (i.op) {
      case Op::Add:
        return Bits<T>(a + b);
      case Op::Sub:
        return Bits<T>(a - b);
      case Op::Mul:
        return Bits<T>(a * b);
      case Op::Div:
        return Bits<T>(a / b);
      case Op::Rcp: {
        const T inverse = T{1} / a;
        // The result of a real machine also differs slightly from the exact inverse.
        constexpr T kFar = std::numeric_limits<T>::infinity();
        return Bits<T>(i.how != "approx" ? inverse
                                         : std::nextafter(inverse, (x & 1) != 0 ? kFar : T{0}));
      }
      case Op::Sqrt:
        return Bits<T>(std::sqrt(a));
      case Op::Fma:
        return Bits<T>(std::fma(a, b, As<T>(z)));
      case Op::Neg:
        return Bits<T>(-a);
      case Op::Abs:
        return Bits<T>(std::fabs(a));
      default:
        break;
    }
  } else {
    using U = std::make_unsigned_t<T>;
    const auto c = As<T>(z);
    switch (i.op) {
      case Op::Add:
        return Extended(static_cast<T>(static_cast<Wide<U>>(x) + y));
      case Op::Sub:
        return Extended(static_cast<T>(static_cast<Wide<U>>(x) - y));
      case Op::Mul:
        return Extended(static_cast<T>(static_cast<Wide<T>>(a) * b));
      case Op::MulHi:
        return Extended(static_cast<T>((static_cast<Wide<T>>(a) * b) >> (8 * sizeof(T))));
      case Op::MulWide:
        return static_cast<std::uint64_t>(static_cast<Wide<T>>(a) * b);
      case Op::Mad:
        return Extended(static_cast<T>(static_cast<Wide<T>>(a) * b + c));
      case Op::Div:
        return b == 0 ? ~std::uint64_t{0} : Extended(static_cast<T>(static_cast<Wide<T>>(a) / b));
      case Op::Rem:
        return b == 0 ? x : Extended(static_cast<T>(static_cast<Wide<T>>(a) % b));
      case Op::Neg:
        return Extended(static_cast<T>(0 - static_cast<Wide<U>>(x)));
      case Op::Abs:
        return Extended(static_cast<T>(a < 0 ? 0 - static_cast<Wide<U>>(x) : x));
      case Op::And:
        return Extended(static_cast<T>(x & y));
      case Op::Or:
        return Extended(static_cast<T>(x | y));
      case Op::Xor:
        return Extended(static_cast<T>(x ^ y));
      case Op::Not:
        return Extended(static_cast<T>(~x));
      case Op::Shl: {
        const auto by = static_cast<std::uint32_t>(y);
        return by >= 8 * sizeof(T) ? 0 : Extended(static_cast<T>(x << by));
      }
      case Op::Shr: {
        const auto by = std::min<std::uint32_t>(static_cast<std::uint32_t>(y), 8 * sizeof(T));
        return Extended(static_cast<T>(static_cast<Wide<T>>(a) >> by));
      }
      case Op::Bfi: {  // inserts x into y at bit z
        const auto at = static_cast<std::uint32_t>(z) & 255;
        const auto bits = static_cast<std::uint64_t>(i.offset);
        if (bits == 0 || at + bits > 8 * sizeof(T) || bits > 32) Unknown(i);
        const auto mask = static_cast<U>(((std::uint64_t{1} << bits) - 1) << at);
        return Extended(static_cast<T>((y & ~mask) | (static_cast<U>(x << at) & mask)));
      }
      case Op::Bfe: {
        const auto from = static_cast<std::uint32_t>(y) & 255;
        const auto bits = static_cast<std::uint32_t>(z) & 255;
        if (bits == 0) return 0;
        const int over = static_cast<int>(8 * sizeof(T)) - static_cast<int>(bits);
        if (from + bits > 8 * sizeof(T)) Unknown(i);
        return Extended(static_cast<T>(static_cast<T>(static_cast<U>(x >> from) << over) >> over));
      }
      default:
        break;
    }
  }
  switch (i.op) {
    case Op::Min:
    case Op::MinNan:
      return Extended(Least(a, b, i.op == Op::MinNan));
    case Op::Max:
    case Op::MaxNan:
      return Extended(Most(a, b, i.op == Op::MaxNan));
    default:
      Unknown(i);
  }
}

template <class T>
bool Compared(const Instruction& i, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool unordered = std::isnan(a) || std::isnan(b);
    if (i.compare == Compare::Nan) return unordered;
    if (i.compare == Compare::Num) return !unordered;
    if (unordered) return i.unordered;
  }
  switch (i.compare) {
    case Compare::Eq:
      return a == b;
    case Compare::Ne:
      return a != b;
    case Compare::Lt:
      return a < b;
    case Compare::Le:
      return a <= b;
    case Compare::Gt:
      return a > b;
    case Compare::Ge:
      return a >= b;
    default:
      Unknown(i);
  }
}

// Rounds to an integer, or to a float of the same width. `how` is the rounding mode of the conversion.
double Rounded(const Instruction& i, double value) {
  if (i.how == "rni") return std::nearbyint(value);
  if (i.how == "rzi") return std::trunc(value);
  if (i.how == "rmi") return std::floor(value);
  if (i.how == "rpi") return std::ceil(value);
  Unknown(i);
}

template <class T>
std::uint64_t Saturated(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min()))
    return Extended(std::numeric_limits<T>::min());
  if (value >= static_cast<double>(std::numeric_limits<T>::max()))
    return Extended(std::numeric_limits<T>::max());
  return Extended(static_cast<T>(value));
}

std::uint64_t Converted(const Instruction& i, std::uint64_t x) {
  const bool of_float = i.type.kind == 'f';
  if (i.result.kind == 'f') {
    if (of_float && i.type.bits == i.result.bits)
      return i.type.bits == 32 ? Bits(static_cast<float>(Rounded(i, As<float>(x))))
                               : Bits(Rounded(i, As<double>(x)));
    if (of_float && i.type.bits == 16)
      return i.result.bits == 32 ? Bits(static_cast<float>(As<_Float16>(x)))
                                 : Bits(static_cast<double>(As<_Float16>(x)));
    if (i.result.bits == 16) {
      if (of_float || i.type.bits > 32)
        return i.type.bits == 32 ? Bits(static_cast<_Float16>(As<float>(x))) : (Unknown(i), 0);
      return With(i, i.type, [&](auto of) {  // the value is exact as a double
        return Bits(static_cast<_Float16>(static_cast<double>(As<decltype(of)>(x))));
      });
    }
    return With(i, i.type, [&](auto of) {
      const auto value = As<decltype(of)>(x);
      return i.result.bits == 32 ? Bits(static_cast<float>(value))
                                 : Bits(static_cast<double>(value));
    });
  }
  if (of_float) {
    const double value = Rounded(i, i.type.bits == 32 ? As<float>(x) : As<double>(x));
    Type to = i.result;
    return With(i, to, [&](auto of) {
      if constexpr (std::is_integral_v<decltype(of)>)
        return Saturated<decltype(of)>(value);
      else
        return std::uint64_t{0};
    });
  }
  const std::uint64_t wide =
      With(i, i.type, [&](auto of) { return Extended(As<decltype(of)>(x)); });
  return With(i, i.result, [&](auto of) { return Extended(As<decltype(of)>(wide)); });
}

std::uint64_t Logic(const Instruction& i, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  switch (i.op) {
    case Op::Mov:
      return a & 1;
    case Op::And:
      return a & b & 1;
    case Op::Or:
      return (a | b) & 1;
    case Op::Xor:
      return (a ^ b) & 1;
    case Op::Not:
      return ~a & 1;
    case Op::Selp:
      return (c & 1) != 0 ? a : b;
    default:
      Unknown(i);
  }
}

std::uint64_t Moved(const Instruction&, std::uint64_t a, std::uint64_t, std::uint64_t) { return a; }
std::uint64_t UpperHalf(const Instruction& i, std::uint64_t a, std::uint64_t, std::uint64_t) {
  return a >> i.type.bits / 2 & LowerHalf(i);
}
std::uint64_t Packed(const Instruction& i, std::uint64_t a, std::uint64_t b, std::uint64_t) {
  return (b & LowerHalf(i)) << i.type.bits / 2 | (a & LowerHalf(i));
}
// Shifts a pair of words. Returns the upper word after a left shift, or the lower word after a right shift.
std::uint64_t ShiftedPair(const Instruction& i, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  if (i.type.bits != 32) Unknown(i);
  const std::uint64_t pair = b << 32 | (a & 0xffffffff);
  if (i.how == "l") return pair << (c & 31) >> 32;
  if (i.how == "r") return pair >> (c & 31) & 0xffffffff;
  Unknown(i);
}
// Selects four of the eight bytes of two words. Each four bits of `c` contain the number of a byte, and whether
// only its sign is copied to all bits.
std::uint64_t Permuted(const Instruction& i, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  if (i.type.bits != 32 || !i.how.empty()) Unknown(i);
  const std::uint64_t pair = b << 32 | (a & 0xffffffff);
  std::uint64_t selected = 0;
  for (int byte = 0; byte < 4; ++byte) {
    const std::uint64_t selector = c >> 4 * byte;
    std::uint64_t value = pair >> 8 * (selector & 7) & 0xff;
    if ((selector & 8) != 0) value = (value & 0x80) != 0 ? 0xff : 0;
    selected |= value << 8 * byte;
  }
  return selected;
}
std::uint64_t Selected(const Instruction&, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return (c & 1) != 0 ? a : b;
}
std::uint64_t RoundedToBf16(std::uint64_t a) {
  constexpr std::uint64_t kNan = 0x7fff;
  const std::uint64_t bits = a & 0xffffffff;
  if (std::isnan(As<float>(bits))) return kNan;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
// Converts a number, or two of them to the upper and the lower half of a register.
std::uint64_t Cast(const Instruction& i, std::uint64_t a, std::uint64_t b, std::uint64_t) {
  if (i.result.kind != 'h') return Converted(i, a);
  if (i.how != "rn" || i.type.kind != 'f' || i.type.bits != 32) Unknown(i);
  return i.result.bits == 16 ? RoundedToBf16(a) : RoundedToBf16(a) << 16 | RoundedToBf16(b);
}
template <class T>
std::uint64_t Predicate(const Instruction& i, std::uint64_t a, std::uint64_t b, std::uint64_t) {
  return Compared(i, As<T>(a), As<T>(b)) ? 1 : 0;
}

}  // namespace

void Resolve(Instruction& i) {
  switch (i.op) {
    case Op::Ld:
    case Op::St:
    case Op::Atom:
      return;
    case Op::Upper:
      i.compute = UpperHalf;
      return;
    case Op::Pack:
      i.compute = Packed;
      return;
    case Op::Shf:
      i.compute = ShiftedPair;
      return;
    case Op::Prmt:
      i.compute = Permuted;
      return;
    case Op::Cvt:
      i.compute = Cast;
      return;
    case Op::Setp:
      i.compute = With(i, i.type, [](auto of) -> Compute { return Predicate<decltype(of)>; });
      return;
    default:
      break;
  }
  if (i.type.kind == 'p')
    i.compute = Logic;
  else if (i.op == Op::Mov)
    i.compute = Moved;
  else if (i.op == Op::Selp)
    i.compute = Selected;
  else
    i.compute = With(i, i.type, [](auto of) -> Compute { return Arithmetic<decltype(of)>; });
}

}  // namespace ptx
