// Small helper functions for strings. They depend only on the standard library, like the rest of the runtime.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kdl::runtime {

inline std::string_view Piece(std::string_view text) { return text; }
inline std::string Piece(std::int64_t number) { return std::to_string(number); }
inline std::string Piece(std::uint64_t number) { return std::to_string(number); }
inline std::string Piece(std::int32_t number) { return std::to_string(number); }
inline std::string Piece(std::uint32_t number) { return std::to_string(number); }

// Concatenates strings and integers.
template <class... Pieces>
std::string Concat(const Pieces&... pieces) {
  std::string text;
  (text.append(Piece(pieces)), ...);
  return text;
}

// Splits a string at a separator, and removes blanks around the parts. An empty string has no parts.
std::vector<std::string_view> Split(std::string_view text, char separator);

// Joins words in a list such as "a", "a and b" or "a, b and c".
std::string JoinWords(const std::vector<std::string>& words);

// Returns the known word most similar to `word`, or "" if none is similar enough.
std::string_view NearestWord(std::string_view word, const std::vector<std::string>& known);

// Parses all of `text` as a decimal integer. Returns false if it is not an integer or does not fit.
bool ParseInteger(std::string_view text, std::int64_t* value);

}  // namespace kdl::runtime
