#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kdl::syntax {

/// Returns the value of a decimal or hexadecimal integer, which may contain `_`. Returns nothing if the
/// value does not fit in 64 bits, and 0 if the text is not a number.
std::optional<uint64_t> ParseInt(std::string_view text);

/// Returns the f64 nearest to a decimal float, or nothing if it exceeds the largest f64.
std::optional<double> ParseFloat(std::string_view text);

/// Returns the text of a string literal without its quotes, and with its escapes replaced. If there is an
/// unknown escape, drops its backslash and sets `bad_escape` to its position.
std::string ParseString(std::string_view quoted, std::optional<size_t>& bad_escape);

}  // namespace kdl::syntax
