// Compressed text of programs in images, about a quarter of its size. The compiler packs OpenCL C, and the runtime unpacks it
// before it gives it to a driver. The code is here, instead of a library's, because the runtime needs nothing but libc.
//
// A packed text is the size of the text, and then pairs of literal bytes and a copy of earlier text: the number of literals, the
// literals, the length of the copy, and how many bytes before the end of the text so far it begins. A copy may overlap what it
// appends. After the last literals, there is no copy. Numbers have 7 bits in each byte, the lowest first; the highest bit is set in
// all bytes but the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace kdl {

namespace packed {

constexpr std::size_t kLeastCopy = 6;  // a shorter copy is hardly shorter than its literals

inline void AddNumber(std::size_t number, std::string* bytes) {
  for (; number >= 0x80; number >>= 7) *bytes += static_cast<char>(0x80 | (number & 0x7f));
  *bytes += static_cast<char>(number);
}

// Removes a number from the beginning of `bytes`. Returns false if there is none.
inline bool TakeNumber(std::string_view* bytes, std::size_t* number) {
  *number = 0;
  for (unsigned shift = 0; shift < 63 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    *number |= static_cast<std::size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Returns a number below 2^16 that depends on the `kLeastCopy` bytes.
inline std::size_t Hash(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, kLeastCopy);
  return static_cast<std::size_t>((word * 0x9e3779b97f4a7c15ull) >> 48);
}

}  // namespace packed

inline std::string PackText(std::string_view text) {
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::size_t> last(std::size_t{1} << 16, kNone);  // the last place of each hash
  std::string bytes;
  packed::AddNumber(text.size(), &bytes);
  std::size_t literals = 0;  // where literals begin that are not added yet
  auto add_literals = [&](std::size_t end) {
    packed::AddNumber(end - literals, &bytes);
    bytes += text.substr(literals, end - literals);
  };
  for (std::size_t i = 0; i + packed::kLeastCopy <= text.size();) {
    std::size_t& place = last[packed::Hash(text.data() + i)];
    const std::size_t from = place;
    place = i;
    std::size_t length = 0;
    if (from != kNone)
      while (i + length < text.size() && text[from + length] == text[i + length]) ++length;
    if (length < packed::kLeastCopy) {
      ++i;
      continue;
    }
    add_literals(i);
    packed::AddNumber(length, &bytes);
    packed::AddNumber(i - from, &bytes);
    i += length;
    literals = i;
  }
  add_literals(text.size());
  return bytes;
}

// Stores the text that was packed. Returns false if the bytes are not a packed text.
inline bool UnpackText(std::string_view bytes, std::string* text) {
  text->clear();
  std::size_t size = 0;
  if (!packed::TakeNumber(&bytes, &size)) return false;
  while (true) {
    std::size_t literals = 0;
    if (!packed::TakeNumber(&bytes, &literals) || literals > bytes.size()) return false;
    text->append(bytes.substr(0, literals));
    bytes.remove_prefix(literals);
    if (bytes.empty()) return text->size() == size;
    std::size_t length = 0;
    std::size_t distance = 0;
    const bool is_copy =
        packed::TakeNumber(&bytes, &length) && packed::TakeNumber(&bytes, &distance);
    if (!is_copy || distance == 0 || distance > text->size() || text->size() > size ||
        length > size - text->size())
      return false;
    for (; length > 0; --length) *text += (*text)[text->size() - distance];
  }
}

}  // namespace kdl
