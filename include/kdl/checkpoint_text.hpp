// The names of checkpoint files, and checksums. The compiler and the runtime share this code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kdl::checkpoints {

// Returns bits that look random (the finalizer of SplitMix64).
inline std::uint64_t Mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

inline std::uint64_t ChecksumOf(std::string_view text) {
  std::uint64_t sum = 0;
  for (const char c : text) sum = Mixed(sum + static_cast<unsigned char>(c) + 1);
  return sum;
}

// Returns 16 digits.
inline std::string HexText(std::uint64_t bits) {
  std::string text(16, '0');
  for (std::size_t digit = 0; digit < text.size(); ++digit)
    text[digit] = "0123456789abcdef"[bits >> (60 - 4 * digit) & 15];
  return text;
}

// Returns the path without detours. ".." at its beginning stays.
inline std::string WithoutDetours(std::string_view path) {
  std::vector<std::string_view> parts;
  const bool is_absolute = path.starts_with('/');
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size() < path.size() ? part.size() + 1 : part.size());
    if (part.empty() || part == ".") continue;
    const bool is_back = part == ".." && !parts.empty() && parts.back() != "..";
    if (is_back) parts.pop_back();
    if (!is_back && !(part == ".." && is_absolute)) parts.push_back(part);
  }
  std::string plain;
  for (const std::string_view part : parts)
    plain.append(plain.empty() && !is_absolute ? "" : "/").append(part);
  return plain.empty() ? (is_absolute ? "/" : ".") : plain;
}

// Returns the name that a program must use for the file with this path: the path relative to the current folder, which is absolute.
// A file that is not inside of this folder keeps its absolute path, which no program uses.
inline std::string NameOf(std::string_view path, std::string_view current_folder) {
  std::string plain = WithoutDetours(path);
  const std::string folder = std::string(current_folder) + (current_folder == "/" ? "" : "/");
  return plain.starts_with(folder) ? plain.substr(folder.size()) : plain;
}

}  // namespace kdl::checkpoints
