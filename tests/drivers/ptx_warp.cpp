#include <cmath>
#include <cstring>
#include <limits>

#include "drivers/ptx_machine.h"

// The warp-wide matrix instructions. The registers of each thread contain part of the matrices.

namespace ptx {

namespace {

constexpr unsigned kSide = 8;    // rows and columns of a loaded matrix
constexpr unsigned kTerms = 16;  // maximum number of terms in an instruction on floats
constexpr unsigned kByteTerms = 32;

}  // namespace

float WidenedElement(std::string_view type, std::uint64_t bits) {
  if (type == "e4m3") {
    const auto exponent = static_cast<int>(bits >> 3 & 15);
    const auto fraction = static_cast<float>(bits & 7);
    const float sign = (bits & 0x80) != 0 ? -1.0F : 1.0F;
    if ((bits & 0x7f) == 0x7f) return std::numeric_limits<float>::quiet_NaN();
    return sign *
           (exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10));
  }
  if (type == "f16" || type == "e5m2") {
    const auto narrow = static_cast<std::uint16_t>(type == "f16" ? bits : bits << 8);
    _Float16 value = 0;
    std::memcpy(&value, &narrow, sizeof value);
    return static_cast<float>(value);
  }
  // The last 13 bits of a tf32 value are ignored.
  const auto wide = static_cast<std::uint32_t>(type == "tf32" ? bits & 0xffffe000 : bits << 16);
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

namespace {

float Float(std::uint64_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::uint64_t RawBits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

// This is a model of the hardware, which does not document the order of its additions. The compiler's table
// of instructions uses the same model.
float MatrixStep(float sum, const float* a, const float* b, unsigned count) {
  float terms[kByteTerms];
  for (unsigned k = 0; k < count; ++k) terms[k] = a[k] * b[k];
  for (unsigned left = count / 2; left > 0; left /= 2) {
    for (unsigned k = 0; k < left; ++k) terms[k] = terms[2 * k] + terms[2 * k + 1];
  }
  return sum + terms[0];
}

namespace {

// Executes m16n8k32 on bytes. It is like the float instruction, with two bytes for each float. Sums wrap.
void MultiplyBytes(const Instruction& i, const WarpRegister& at) {
  std::int32_t a[16][kByteTerms];
  std::int32_t b[kSide][kByteTerms];
  const Operand* registers = i.many.data();  // 4 of d, 4 of a, 2 of b, 4 of c
  const auto byte = [&](std::uint64_t bits, unsigned part) {
    const auto value = static_cast<std::uint8_t>(bits >> (8 * part));
    return i.how == "s8" ? std::int32_t{static_cast<std::int8_t>(value)} : std::int32_t{value};
  };
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    for (unsigned part = 0; part < 4; ++part) {
      const unsigned term = 4 * (lane % 4) + part;
      for (unsigned r = 0; r < 4; ++r)
        a[lane / 4 + 8 * (r & 1)][term + 16 * (r >> 1)] = byte(at(lane, registers[4 + r]), part);
      for (unsigned r = 0; r < 2; ++r)
        b[lane / 4][term + 16 * r] = byte(at(lane, registers[8 + r]), part);
    }
  }
  std::uint64_t sums[kWarp][4];
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    for (unsigned r = 0; r < 4; ++r) {
      auto sum = static_cast<std::uint32_t>(at(lane, registers[10 + r]));
      for (unsigned k = 0; k < kByteTerms; ++k)
        sum += static_cast<std::uint32_t>(a[lane / 4 + 8 * (r >> 1)][k] *
                                          b[2 * (lane % 4) + (r & 1)][k]);
      sums[lane][r] = sum;
    }
  }
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    for (unsigned r = 0; r < 4; ++r) at(lane, registers[r]) = sums[lane][r];
  }
}

}  // namespace

// Lane l provides the address of row l % 8 of matrix l / 8. From each matrix it gets two neighbouring
// elements of row l / 4 or, if transposed, of column l / 4.
void LoadMatrices(const Instruction& i, const WarpRegister& at, const WarpRow& row) {
  for (unsigned matrix = 0; matrix < i.many.size(); ++matrix) {
    std::vector<std::vector<std::uint16_t>> rows;
    for (unsigned r = 0; r < kSide; ++r) rows.push_back(row(kSide * matrix + r));
    for (unsigned lane = 0; lane < kWarp; ++lane) {
      const unsigned one = lane / 4;
      const unsigned pair = 2 * (lane % 4);
      const std::uint64_t low = i.transposed ? rows[pair][one] : rows[one][pair];
      const std::uint64_t high = i.transposed ? rows[pair + 1][one] : rows[one][pair + 1];
      at(lane, i.many[matrix]) = high << 16 | low;
    }
  }
}

// Executes m16n8k16, or m16n8k8 for tf32. In the result, lane l has rows l / 4 and l / 4 + 8, and columns 2
// (l % 4) and 2 (l % 4) + 1.
void MultiplyMatrices(const Instruction& i, const WarpRegister& at) {
  if (i.how == "s8" || i.how == "u8") return MultiplyBytes(i, at);
  const unsigned parts = i.how == "tf32" ? 1 : 2;  // number of elements in a register
  const unsigned bits = 32 / parts;
  float a[16][kTerms];
  float b[kSide][kTerms];
  const Operand* registers = i.many.data();  // 4 of d, 4 of a, 2 of b, 4 of c
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    const unsigned one = lane / 4;
    for (unsigned part = 0; part < parts; ++part) {
      const unsigned term = parts * (lane % 4) + part;
      const auto element = [&](unsigned number) {
        const std::uint64_t all = at(lane, registers[number]) >> (bits * part);
        return WidenedElement(i.how, all & ((std::uint64_t{1} << bits) - 1));
      };
      for (unsigned r = 0; r < 4; ++r)
        a[one + 8 * (r & 1)][term + 4 * parts * (r >> 1)] = element(4 + r);
      for (unsigned r = 0; r < 2; ++r) b[one][term + 4 * parts * r] = element(8 + r);
    }
  }
  std::uint64_t sums[kWarp][4];
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    for (unsigned r = 0; r < 4; ++r)
      sums[lane][r] =
          RawBits(MatrixStep(Float(at(lane, registers[10 + r])), a[lane / 4 + 8 * (r >> 1)],
                             b[2 * (lane % 4) + (r & 1)], 8 * parts));
  }
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    for (unsigned r = 0; r < 4; ++r) at(lane, registers[r]) = sums[lane][r];
  }
}

}  // namespace ptx
