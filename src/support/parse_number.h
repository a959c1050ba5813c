#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace kdl {

// Of names and numbers as texts of ours write them, in any locale.
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// The number that the whole text is; nothing where it is none, or too large for T.
template <class T, class... Base>
std::optional<T> ParseNumber(std::string_view text, Base... base) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace kdl
