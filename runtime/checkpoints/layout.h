// The layout of checkpoint files. Such a file contains all elements of its tensors in row-major order, so that any number of
// processes can read it. It begins with a line of JSON: a checksum of the program, the file's name, the types and bits of the
// numbers, and the names, types and sizes of the tensors. It ends with a line that contains a checksum, which is a sum over
// all elements, so that each process can compute its part of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "checkpoints/saved.h"

namespace kdl::runtime {

// How the files of all versions begin.
inline constexpr std::string_view kCheckpointKind = "kdl checkpoint ";

// A header has a few words for each number and tensor of a statement, so a longer one is not a header.
inline constexpr std::int64_t kMostHeaderBytes = std::int64_t{1} << 20;

inline constexpr std::int64_t kChecksumBytes = 17;  // with the line break

// Returns the first line of a file, after which the elements begin.
std::string HeaderOf(const Saved& saved);

// Returns why the program cannot continue at a file with this header, or "". Stores the numbers of the header.
std::string WhyUnusable(std::string_view header, Saved& saved);

// Returns where the checksum is in a file whose header has this length.
std::int64_t EndOfElements(const Saved& saved, std::size_t header);

// Returns what a row of elements with `size` bytes each contributes to the checksum. It depends on their place in the file.
std::uint64_t RowSum(std::int64_t place, const char* row, std::size_t bytes, std::size_t size);

// Returns the last line, for a file with this header and with elements that contribute `sum`.
std::string ChecksumLine(std::string_view header, std::uint64_t sum);

}  // namespace kdl::runtime
