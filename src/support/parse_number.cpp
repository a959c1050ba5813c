#include "support/parse_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace kdl {

namespace {

/// A decimal number, `0.DIGITS * 10^exponent`. `digits` has no decimal point, no sign, and no leading or
/// trailing zeros.
struct Decimal {
  std::string digits;
  int64_t exponent = 0;
};

Decimal ToDecimal(std::string_view text) {
  Decimal decimal;
  int64_t exponent = 0;
  size_t mark = text.find_first_of("eE");
  if (mark != std::string_view::npos) {
    std::string_view tail = text.substr(mark + 1);
    if (tail.starts_with('+')) tail.remove_prefix(1);
    std::from_chars(tail.data(), tail.data() + tail.size(), exponent);
    text = text.substr(0, mark);
  }
  size_t point = std::min(text.find('.'), text.size());
  decimal.digits = std::string(text.substr(0, point));
  if (point < text.size()) decimal.digits += text.substr(point + 1);
  decimal.exponent = exponent + static_cast<int64_t>(point);
  size_t zeros = std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size());
  decimal.digits.erase(0, zeros);
  decimal.exponent -= static_cast<int64_t>(zeros);
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  if (decimal.digits.empty()) decimal.exponent = 0;
  return decimal;
}

int Compare(const Decimal& a, const Decimal& b) {
  if (a.digits.empty() || b.digits.empty()) {
    return static_cast<int>(!a.digits.empty()) - static_cast<int>(!b.digits.empty());
  }
  if (a.exponent != b.exponent) return a.exponent < b.exponent ? -1 : 1;
  return a.digits.compare(b.digits);
}

}  // namespace

bool IsLargeDecimal(std::string_view text) {
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
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  exponent = error == std::errc::result_out_of_range ? kMost : std::min(exponent, kMost);
  return place + (negative ? -exponent : exponent) > 0;
}

std::optional<double> ParseToOdd(std::string_view text) {
  bool negative = text.starts_with('-');
  std::string_view magnitude = text.substr(negative ? 1 : 0);
  std::optional<double> parsed = ParseNumber<double>(magnitude);
  if (!parsed || !std::isfinite(*parsed) || std::signbit(*parsed)) return std::nullopt;
  int order = Compare(ToDecimal(magnitude), ToDecimal(fmt::format("{:.1100e}", *parsed)));
  auto bits = std::bit_cast<uint64_t>(*parsed);
  if (order != 0 && (bits & 1) == 0) bits += order > 0 ? 1 : -1;
  double odd = std::bit_cast<double>(bits);
  return negative ? -odd : odd;
}

}  // namespace kdl
