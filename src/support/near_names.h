#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kdl {

/// Returns the candidate that `name` was probably meant to be: the one with the fewest edits, the first if
/// several have as few; empty if none is close.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates);

/// Returns the names as `'a', 'b' and 'c'`; empty if there are none.
std::string QuotedList(std::span<const std::string_view> names,
                       std::string_view last_joint = "and");

/// Splits a text at its spaces.
std::vector<std::string_view> NamesIn(std::string_view text);

}  // namespace kdl
