#include "syntax/literals.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace kdl::syntax {

namespace {

/// Whether a decimal float that std::from_chars found out of range is too large, not too small:
/// by the place of its first digit that is not 0.
bool IsLarge(std::string_view text) {
  size_t mark = std::min(text.find_first_of("eE"), text.size());
  std::string_view digits = text.substr(0, mark);
  size_t first = digits.find_first_not_of("0.");
  if (first == std::string_view::npos) return false;
  size_t point = std::min(digits.find('.'), digits.size());
  auto place = static_cast<int64_t>(point) - static_cast<int64_t>(first);

  std::string_view written = text.substr(std::min(mark + 1, text.size()));
  bool negative = written.starts_with('-');
  if (written.starts_with('-') || written.starts_with('+')) written.remove_prefix(1);
  int64_t exponent = 0;
  auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), exponent);
  if (error == std::errc::result_out_of_range) exponent = std::numeric_limits<int32_t>::max();
  return place + (negative ? -exponent : exponent) > 0;
}

}  // namespace

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
  if (IsLarge(text)) return std::nullopt;
  return 0.0;
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
