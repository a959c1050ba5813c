#include "syntax/literals.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "support/parse_number.h"

namespace kdl::syntax {

std::optional<uint64_t> ParseInt(std::string_view text) {
  std::string digits(text);
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  const char* begin = digits.data() + (hex ? 2 : 0);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(begin, digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error == std::errc::result_out_of_range) return std::nullopt;
  return value;
}

std::optional<double> ParseFloat(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{}) return value;
  return IsLargeDecimal(text) ? std::nullopt : std::optional(0.0);
}

std::string ParseString(std::string_view quoted, std::optional<size_t>& bad_escape) {
  std::string_view body = quoted.substr(1);
  std::string value;
  size_t i = 0;
  for (; i < body.size() && body[i] != '"'; ++i) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      value += body[i];
      continue;
    }
    switch (body[++i]) {
      case 'n':
        value += '\n';
        break;
      case 't':
        value += '\t';
        break;
      case '"':
        value += '"';
        break;
      case '\\':
        value += '\\';
        break;
      default:
        if (!bad_escape) bad_escape = i;
        value += body[i];
    }
  }
  return value;
}

}  // namespace kdl::syntax
