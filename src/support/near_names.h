#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kdl {

/// The candidate that `name` was probably meant to be: fewest edits, the first of equals; empty
/// where none is near.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates);

/// `'a', 'b' and 'c'`; empty for no names.
std::string QuotedList(std::span<const std::string_view> names,
                       std::string_view last_joint = "and");

/// Those of a text in which they are separated by spaces.
std::vector<std::string_view> NamesIn(std::string_view text);

}  // namespace kdl
