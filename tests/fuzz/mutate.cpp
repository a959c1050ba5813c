#include "mutate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <random>
#include <vector>

namespace kdl::fuzz {

namespace {

using Pieces = std::vector<std::string>;

/// Splits a text into words, runs of spaces, and single signs. Their concatenation is the text.
Pieces WordsOf(std::string_view text) {
  auto kind = [](char c) {
    auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_') return 0;
    return std::isspace(byte) != 0 ? 1 : 2;
  };
  Pieces words;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    while (kind(text[begin]) != 2 && end < text.size() && kind(text[end]) == kind(text[begin]))
      ++end;
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

Pieces LinesOf(std::string_view text) {
  Pieces lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

std::string Join(const Pieces& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

class Mutator {
 public:
  Mutator(std::string_view other, uint64_t seed) : other_(other), random_(seed) {}

  std::string ApplyMutations(std::string_view text) {
    std::string changed(text);
    for (size_t n = 1 + Below(4); n > 0; --n)
      changed = Below(8) == 0 ? Bytes(changed) : Change(changed);
    return changed;
  }

 private:
  size_t Below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  std::string Change(const std::string& text) {
    bool lines = Below(4) == 0;
    Pieces pieces = lines ? LinesOf(text) : WordsOf(text);
    if (pieces.empty()) return text;
    Pieces others = lines ? LinesOf(other_) : WordsOf(other_);
    size_t at = Below(pieces.size());
    size_t from = Below(pieces.size());
    auto place = pieces.begin() + static_cast<std::ptrdiff_t>(at);
    switch (Below(6)) {
      case 0:
        pieces.erase(place);
        break;
      case 1:
        pieces.insert(place, std::string(pieces[from]));
        break;
      case 2:
        std::swap(pieces[at], pieces[from]);
        break;
      case 3:
        pieces[at] = std::string(pieces[from]);
        break;
      case 4:
        if (!others.empty()) pieces[at] = others[Below(others.size())];
        break;
      default:
        pieces[at] = Number();
        break;
    }
    return Join(pieces);
  }

  std::string Number() {
    static constexpr std::array<std::string_view, 12> kNumbers = {"0",
                                                                  "1",
                                                                  "-1",
                                                                  "2",
                                                                  "63",
                                                                  "64",
                                                                  "255",
                                                                  "65536",
                                                                  "2147483648",
                                                                  "9223372036854775807",
                                                                  "18446744073709551615",
                                                                  "0.5"};
    return std::string(kNumbers[Below(kNumbers.size())]);
  }

  std::string Bytes(std::string text) {
    if (text.empty()) return std::string(1, static_cast<char>(random_()));
    text[Below(text.size())] = static_cast<char>(random_());
    return text;
  }

  std::string_view other_;
  std::mt19937_64 random_;
};

}  // namespace

std::string Mutate(std::string_view text, std::string_view other, uint64_t seed) {
  return Mutator(other, seed).ApplyMutations(text);
}

}  // namespace kdl::fuzz
