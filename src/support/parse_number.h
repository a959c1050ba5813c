#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace kdl {

// Character classes for names and numbers in KDL and KIR. They do not depend on the locale.
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Given a decimal float that `std::from_chars` reported as out of range, returns true if it is too large,
/// and false if it is too small. The position of its first nonzero digit decides.
bool IsLargeDecimal(std::string_view text);

/// Parses the whole text as a number. Returns nothing if it is not a number or is too large for T. A float
/// that is too small becomes a zero of the same sign.
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

/// Parses a float and rounds it to odd: a number between two adjacent f64 values becomes the one whose last
/// bit is 1. Rounding the result again to fewer bits gives the same value as rounding the original number
/// once. Returns nothing in the cases in which `ParseNumber` does.
std::optional<double> ParseToOdd(std::string_view text);

}  // namespace kdl
