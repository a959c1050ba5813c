#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kdl {

/// Returns the candidate with the smallest edit distance to `name`, or the first of several such candidates.
/// Returns an empty string if no candidate is close.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates);

/// Joins the names into text such as `'a', 'b' and 'c'`, with `last_joint` before the last name. Returns
/// an empty string if there are no names.
std::string QuotedList(std::span<const std::string_view> names,
                       std::string_view last_joint = "and");

/// Splits a string at spaces.
std::vector<std::string_view> NamesIn(std::string_view text);

}  // namespace kdl
