#include "support/parse_number.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace kdl {

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

}  // namespace kdl
