#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kdl::syntax {

/// The value of a decimal or hexadecimal integer with `_` in it; nothing where it passes 64 bits,
/// 0 for what is no number.
std::optional<uint64_t> ParseInt(std::string_view text);

/// The f64 nearest to a decimal float; nothing where it passes the largest.
std::optional<double> ParseFloat(std::string_view text);

/// A text without its quotes and with its escapes replaced. Of an unknown escape the backslash goes
/// and `bad_escape` becomes its position.
std::string ParseString(std::string_view quoted, std::optional<size_t>& bad_escape);

}  // namespace kdl::syntax
