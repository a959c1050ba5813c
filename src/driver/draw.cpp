#include "driver/draw.h"

#include <bit>
#include <cmath>

#include "support/float16.h"
#include "support/float_bits.h"

namespace kdl::driver {

namespace {

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// In [-1, 1), a multiple of 2^(1 - digits): exact in every type with as many binary digits.
double Unit(uint64_t x, int digits) {
  return std::ldexp(static_cast<double>(x >> (64 - digits)), 1 - digits) - 1;
}

uint64_t Low(uint64_t value, Scalar scalar) {
  return value & ~uint64_t{0} >> (64 - Info(scalar).bits);
}

}  // namespace

uint64_t DrawElement(Scalar scalar, uint64_t seed, uint64_t n) {
  uint64_t x = Mix(Mix(seed) + n);
  switch (scalar) {
    case Scalar::F8E4M3:
      return FloatBits(scalar, Unit(x, 4));
    case Scalar::F8E5M2:
      return FloatBits(scalar, Unit(x, 3));
    case Scalar::F16:
      return F16FromF64(Unit(x, 11));
    case Scalar::BF16:
      return Bf16FromF64(Unit(x, 8));
    case Scalar::F32:
      return std::bit_cast<uint32_t>(static_cast<float>(Unit(x, 24)));
    case Scalar::F64:
      return std::bit_cast<uint64_t>(Unit(x, 53));
    case Scalar::Bool:
      return x >> 63;
    default:
      return IsSigned(scalar) ? Low(x % 201 - 100, scalar) : x % 101;
  }
}

void Draw(HostTensor& tensor, uint64_t seed) {
  auto size = static_cast<size_t>(Bytes(tensor.scalar));
  for (size_t n = 0; n < tensor.bytes.size() / size; ++n) {
    SetElementBits(tensor, static_cast<int64_t>(n), DrawElement(tensor.scalar, seed, n));
  }
}

}  // namespace kdl::driver
