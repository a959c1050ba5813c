#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace kdl {

// Of names and numbers as texts of ours write them, in any locale.
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Whether a decimal float that std::from_chars found out of range is too large, not too small: by the place of its first digit
/// that is not 0.
bool IsLargeDecimal(std::string_view text);

/// The number that the whole text is; nothing where it is none, or too large for T. What is too small for a float is a zero of
/// its sign.
template <class T, class... Base>
std::optional<T> ParseNumber(std::string_view text, Base... base) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc()) return value;
  if constexpr (std::is_floating_point_v<T>) {
    bool negative = text.starts_with('-');
    if (error == std::errc::result_out_of_range && !IsLargeDecimal(text.substr(negative ? 1 : 0)))
      return negative ? -T{} : T{};
  }
  return std::nullopt;
}

/// The f64 that, rounded once more to fewer bits, gives the decimal text rounded once: where the text is no f64, the neighbor
/// whose last bit is odd. Nothing where ParseNumber gives nothing.
std::optional<double> ParseToOdd(std::string_view text);

}  // namespace kdl
