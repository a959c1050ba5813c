// Small text helpers; the runtime depends on nothing but the standard library.
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

// The pieces, texts and integers, one after the other.
template <class... Pieces>
std::string Concat(const Pieces&... pieces) {
  std::string text;
  (text.append(Piece(pieces)), ...);
  return text;
}

// The parts between separators, blanks around each removed; "" gives no part.
std::vector<std::string_view> Split(std::string_view text, char separator);

// "a", "a and b", "a, b and c".
std::string JoinWords(const std::vector<std::string>& words);

// The known word that is most like `word`, or "" where none is near enough to be meant.
std::string_view NearestWord(std::string_view word, const std::vector<std::string>& known);

// All of `text` as a decimal integer; false where it is none or does not fit.
bool ParseInteger(std::string_view text, std::int64_t* value);

}  // namespace kdl::runtime
