#include "support/float_bits.h"

#include <bit>
#include <cmath>

#include "support/check.h"
#include "support/float16.h"
#include "support/float8.h"

namespace kdl {

double FloatValue(Scalar scalar, uint64_t bits) {
  switch (scalar) {
    case Scalar::F8E4M3:
    case Scalar::F8E5M2:
      return F64FromF8(Float8Of(scalar), static_cast<uint8_t>(bits));
    case Scalar::F16:
      return F64FromF16(static_cast<uint16_t>(bits));
    case Scalar::BF16:
      return F64FromBf16(static_cast<uint16_t>(bits));
    case Scalar::F32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case Scalar::F64:
      return std::bit_cast<double>(bits);
    default:
      KDL_UNREACHABLE("{} is no float", Spelling(scalar));
  }
}

uint64_t FloatBits(Scalar scalar, double value) {
  switch (scalar) {
    case Scalar::F8E4M3:
    case Scalar::F8E5M2:
      return F8FromF64(Float8Of(scalar), value);
    case Scalar::F16:
      return F16FromF64(value);
    case Scalar::BF16:
      return Bf16FromF64(value);
    case Scalar::F32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case Scalar::F64:
      return std::bit_cast<uint64_t>(value);
    default:
      KDL_UNREACHABLE("{} is no float", Spelling(scalar));
  }
}

bool IsBeyond(Scalar scalar, double value) {
  return IsByteFloat(scalar) ? IsBeyond(Float8Of(scalar), value)
                             : std::isinf(FloatValue(scalar, FloatBits(scalar, value)));
}

uint64_t InfinityBits(Scalar scalar, bool negative) {
  double infinity = negative ? -INFINITY : INFINITY;
  uint64_t bits = FloatBits(scalar, infinity);
  // Numbers do not become it, but it may lie in memory, behind the largest one.
  return IsByteFloat(scalar) && Float8Of(scalar).has_infinity ? bits + 1 : bits;
}

uint64_t CanonicalNan(Scalar scalar) {
  switch (scalar) {
    case Scalar::F8E4M3:
    case Scalar::F8E5M2:
      return kF8Nan;
    case Scalar::F16:
      return 0x7e00;
    case Scalar::BF16:
      return 0x7fc0;
    case Scalar::F32:
      return 0x7fc00000;
    case Scalar::F64:
      return 0x7ff8000000000000;
    default:
      KDL_UNREACHABLE("{} is no float", Spelling(scalar));
  }
}

}  // namespace kdl
