#include "ir/eval/eval_casts.h"

#include <cmath>
#include <limits>

#include "ir/eval/eval_types.h"
#include "support/float_bits.h"

namespace kdl::ir {

namespace {

/// Truncates to an integer and saturates; NaN becomes 0. The least value of T, and the largest value plus 1,
/// are powers of two or 0, and hence exact in f64.
template <Integer T>
T SaturatingFrom(double value) {
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  double above_max = std::scalbn(1.0, std::numeric_limits<T>::digits);
  if (value >= above_max) return std::numeric_limits<T>::max();
  if (value < static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

/// Returns an f64 that, rounded to any narrower float, gives the same result as rounding `value` directly.
template <Integer T>
double Sticky(T value) {
  if constexpr (std::is_signed_v<T>) {
    return F64FromI64Sticky(value);
  } else {
    return F64FromU64Sticky(value);
  }
}

template <class From, class To>
To CastTo(From value) {
  if constexpr (std::same_as<From, To>) {
    return value;
  } else if constexpr (Narrow<From>) {
    return CastTo<double, To>(Exact(value));
  } else if constexpr (Bool<To>) {
    return value != From{0};
  } else if constexpr (Bool<From>) {
    return CastTo<uint8_t, To>(value ? 1 : 0);
  } else if constexpr (Narrow<To>) {
    if constexpr (Integer<From>) {
      return NarrowFrom<To>(Sticky(value));
    } else {
      return NarrowFrom<To>(value);
    }
  } else if constexpr (Wide<From> && Integer<To>) {
    return SaturatingFrom<To>(value);
  } else if constexpr (Wide<From>) {
    return static_cast<To>(CanonicalNan(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
uint64_t CastEntry(const uint64_t* operands, bool*) {
  return ToPattern(CastTo<From, To>(FromPattern<From>(operands[0])));
}

template <class From>
EvalFn CastFrom(Scalar to) {
  static constexpr auto kTable =
      ByScalar([]<Scalar each>() { return &CastEntry<From, typename CppType<each>::Type>; });
  return kTable[static_cast<size_t>(to)];
}

template <Wide T>
uint64_t CanonicalBits(const uint64_t* operands, bool*) {
  return ToPattern(CanonicalNan(FromPattern<T>(operands[0])));
}

}  // namespace

EvalFn FindCast(Scalar from, Scalar to) {
  static constexpr auto kTable =
      ByScalar([]<Scalar each>() { return &CastFrom<typename CppType<each>::Type>; });
  return kTable[static_cast<size_t>(from)](to);
}

EvalFn FindToBits(Scalar operand, Scalar result) {
  if (operand == Scalar::F32 && result == Scalar::I32) return &CanonicalBits<float>;
  if (operand == Scalar::F64 && result == Scalar::I64) return &CanonicalBits<double>;
  return nullptr;
}

EvalFn FindFromBits(Scalar operand, Scalar result) {
  bool fits = (operand == Scalar::I32 && result == Scalar::F32) ||
              (operand == Scalar::I64 && result == Scalar::F64);
  return fits ? &PassThrough : nullptr;
}

uint64_t EvaluateCast(Scalar from, Scalar to, uint64_t bits) {
  bool unused = false;
  return FindCast(from, to)(&bits, &unused);
}

int64_t Extended(Scalar scalar, uint64_t bits) {
  return static_cast<int64_t>(EvaluateCast(scalar, Scalar::I64, bits));
}

}  // namespace kdl::ir
