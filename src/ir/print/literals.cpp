#include "ir/print/literals.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "support/check.h"
#include "support/float_bits.h"
#include "support/parse_number.h"

namespace kdl::ir {

namespace {

uint64_t Mask(Scalar scalar) {
  return Bytes(scalar) == 8 ? ~uint64_t{0} : (uint64_t{1} << (Bytes(scalar) * 8)) - 1;
}

std::string FloatText(Scalar scalar, uint64_t bits) {
  double value = FloatValue(scalar, bits);
  if (std::isnan(value)) {
    return bits == CanonicalNan(scalar) ? "nan" : fmt::format("0x{:x}", bits);
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // Print the shortest digits that identify the value within its type. For floats narrower than f32, print
  // all digits of the exact value.
  std::string text = scalar == Scalar::F32 ? fmt::format("{}", static_cast<float>(value))
                                           : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::optional<uint64_t> FloatConstant(Scalar scalar, std::string_view text) {
  if (text == "nan") return CanonicalNan(scalar);
  if (text == "inf" || text == "-inf") return InfinityBits(scalar, text[0] == '-');
  std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  if (scalar == Scalar::F32) {
    std::optional<float> value = ParseNumber<float>(text);
    return value ? std::optional<uint64_t>(std::bit_cast<uint32_t>(*value)) : std::nullopt;
  }
  std::optional<double> value =
      scalar == Scalar::F64 ? ParseNumber<double>(text) : ParseToOdd(text);
  if (!value) return std::nullopt;
  return IsBeyond(scalar, *value) ? std::nullopt : std::optional(FloatBits(scalar, *value));
}

std::optional<uint64_t> IntegerConstant(Scalar scalar, std::string_view text) {
  uint64_t mask = Mask(scalar);
  if (IsSigned(scalar)) {
    std::optional<int64_t> value = ParseNumber<int64_t>(text, 10);
    auto largest = static_cast<int64_t>(mask >> 1);
    if (!value || *value > largest || *value < -largest - 1) return std::nullopt;
    return static_cast<uint64_t>(*value) & mask;
  }
  std::optional<uint64_t> value = ParseNumber<uint64_t>(text, 10);
  return value && *value <= mask ? value : std::nullopt;
}

/// Returns the length of the UTF-8 code point at the start of `text`, or 0 if the text does not start
/// with one.
size_t CodePointBytes(std::string_view text) {
  auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (at(0) < 0x80) return 1;
  size_t bytes = at(0) >= 0xc2 && at(0) < 0xe0   ? 2
                 : at(0) >= 0xe0 && at(0) < 0xf0 ? 3
                 : at(0) >= 0xf0 && at(0) < 0xf5 ? 4
                                                 : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  bool overlong = (at(0) == 0xe0 && at(1) < 0xa0) || (at(0) == 0xf0 && at(1) < 0x90);
  bool beyond = (at(0) == 0xed && at(1) > 0x9f) || (at(0) == 0xf4 && at(1) > 0x8f);
  return overlong || beyond ? 0 : bytes;
}

}  // namespace

std::string ConstantText(Scalar scalar, uint64_t bits) {
  if ((bits & ~Mask(scalar)) != 0) return fmt::format("0x{:x}", bits);
  switch (Info(scalar).group) {
    case ScalarGroup::Bool:
      return bits == 0 ? "false" : bits == 1 ? "true" : fmt::format("0x{:x}", bits);
    case ScalarGroup::Float:
      return FloatText(scalar, bits);
    case ScalarGroup::Unsigned:
      return fmt::format("{}", bits);
    case ScalarGroup::Signed:
      break;
  }
  int unused = 64 - Bytes(scalar) * 8;
  return fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
}

std::optional<uint64_t> ConstantBits(Scalar scalar, std::string_view text) {
  if (text.starts_with("0x")) {
    std::optional<uint64_t> bits = ParseNumber<uint64_t>(text.substr(2), 16);
    bool fits = bits && (*bits & ~Mask(scalar)) == 0 && (scalar != Scalar::Bool || *bits <= 1);
    return fits ? bits : std::nullopt;
  }
  switch (Info(scalar).group) {
    case ScalarGroup::Bool:
      if (text == "true") return 1;
      if (text == "false") return 0;
      return std::nullopt;
    case ScalarGroup::Float:
      return FloatConstant(scalar, text);
    default:
      return IntegerConstant(scalar, text);
  }
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    size_t bytes = CodePointBytes(text);
    auto first = static_cast<unsigned char>(text[0]);
    if (text[0] == '"' || text[0] == '\\') {
      quoted += {'\\', text[0]};
    } else if (text[0] == '\n') {
      quoted += "\\n";
    } else if (bytes == 0 || first < 0x20 || first == 0x7f) {
      quoted += fmt::format("\\x{:02x}", first);
      bytes = 1;
    } else {
      quoted += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return quoted + '"';
}

bool IsPlainName(std::string_view name) {
  bool at_start = true;
  for (char c : name) {
    if (c == '.' && !at_start) {
      at_start = true;
    } else if (IsLetter(c) || (!at_start && IsDigit(c))) {
      at_start = false;
    } else {
      return false;
    }
  }
  return !at_start;
}

}  // namespace kdl::ir
