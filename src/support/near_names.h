#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kdl {

/// The candidate that `name` was probably meant to be: fewest edits, the first of equals; empty
/// where none is near.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates);

/// `'a', 'b' and 'c'`; empty for no names.
std::string QuotedList(std::span<const std::string_view> names,
                       std::string_view last_joint = "and");

}  // namespace kdl
