#include "driver/run/host_tensor.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>

#include "support/check.h"
#include "support/float_bits.h"
#include "support/parse_number.h"

namespace kdl::driver {

namespace {

int64_t SignExtended(Scalar scalar, uint64_t bits) {
  int unused = 64 - Info(scalar).bits;
  return static_cast<int64_t>(bits << unused) >> unused;
}

std::optional<uint64_t> ParseFloat(Scalar scalar, std::string_view text) {
  bool negative = text.starts_with('-');
  std::string_view magnitude = text.substr(negative ? 1 : 0);
  if (magnitude == "inf" || magnitude == "nan") {
    if (magnitude == "inf") return InfinityBits(scalar, negative);
    double nan = std::numeric_limits<double>::quiet_NaN();
    return FloatBits(scalar, negative ? -nan : nan);
  }
  bool decimal = magnitude.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  if (!decimal) return std::nullopt;
  if (scalar == Scalar::F32) {
    auto value = ParseNumber<float>(text);
    return value ? std::optional<uint64_t>(std::bit_cast<uint32_t>(*value)) : std::nullopt;
  }
  auto value = scalar == Scalar::F64 ? ParseNumber<double>(text) : ParseToOdd(text);
  if (!value) return std::nullopt;
  return IsBeyond(scalar, *value) ? std::nullopt : std::optional(FloatBits(scalar, *value));
}

std::optional<uint64_t> ParseInteger(Scalar scalar, std::string_view text) {
  bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative ? 1 : 0);
  bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (hex) digits.remove_prefix(2);
  uint64_t magnitude = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, hex ? 16 : 10);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    return std::nullopt;
  int bits = Info(scalar).bits;
  uint64_t most = IsSigned(scalar) ? (uint64_t{1} << (bits - 1)) - (negative ? 0 : 1)
                                   : ~uint64_t{0} >> (64 - bits);
  if (negative && !IsSigned(scalar) && magnitude != 0) return std::nullopt;
  if (magnitude > most) return std::nullopt;
  return (negative ? 0 - magnitude : magnitude) & ~uint64_t{0} >> (64 - bits);
}

}  // namespace

std::optional<int64_t> ElementCount(Scalar scalar, std::span<const int64_t> shape) {
  int64_t bytes = Bytes(scalar);
  bool empty = false;
  for (int64_t size : shape) {
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, size, &bytes)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : bytes / Bytes(scalar);
}

std::string TypeText(Scalar scalar, std::span<const int64_t> shape) {
  return shape.empty() ? std::string(Spelling(scalar))
                       : fmt::format("{}[{}]", Spelling(scalar), fmt::join(shape, ", "));
}

uint64_t ElementBits(const HostTensor& tensor, int64_t n) {
  uint64_t bits = 0;
  auto size = static_cast<size_t>(Bytes(tensor.scalar));
  std::memcpy(&bits, tensor.bytes.data() + static_cast<size_t>(n) * size, size);
  return bits;
}

void SetElementBits(HostTensor& tensor, int64_t n, uint64_t bits) {
  auto size = static_cast<size_t>(Bytes(tensor.scalar));
  std::memcpy(tensor.bytes.data() + static_cast<size_t>(n) * size, &bits, size);
}

uint64_t NumberBits(Scalar scalar, int64_t n) {
  if (scalar == Scalar::Bool) return n != 0 ? 1 : 0;
  if (IsFloat(scalar)) return FloatBits(scalar, static_cast<double>(n));
  return static_cast<uint64_t>(n) & ~uint64_t{0} >> (64 - Info(scalar).bits);
}

double ElementValue(Scalar scalar, uint64_t bits) {
  if (IsFloat(scalar)) return FloatValue(scalar, bits);
  return IsSigned(scalar) ? static_cast<double>(SignExtended(scalar, bits))
                          : static_cast<double>(bits);
}

bool IsNaN(Scalar scalar, uint64_t bits) {
  return IsFloat(scalar) && std::isnan(ElementValue(scalar, bits));
}

std::string ElementText(Scalar scalar, uint64_t bits) {
  if (scalar == Scalar::Bool) return bits != 0 ? "true" : "false";
  if (IsNaN(scalar, bits)) return "nan";
  if (scalar == Scalar::F64) return fmt::format("{}", ElementValue(scalar, bits));
  if (IsFloat(scalar)) return fmt::format("{}", static_cast<float>(ElementValue(scalar, bits)));
  return IsSigned(scalar) ? fmt::format("{}", SignExtended(scalar, bits)) : fmt::format("{}", bits);
}

std::optional<uint64_t> ParseElement(Scalar scalar, std::string_view text) {
  if (scalar == Scalar::Bool) {
    if (text == "true" || text == "1") return 1;
    return text == "false" || text == "0" ? std::optional<uint64_t>(0) : std::nullopt;
  }
  return IsFloat(scalar) ? ParseFloat(scalar, text) : ParseInteger(scalar, text);
}

}  // namespace kdl::driver
