#include "support/near_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace kdl {

namespace {

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Returns the minimum number of insertions, deletions, substitutions and swaps of adjacent characters that
/// turn `a` into `b`, ignoring case.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      bool same = Lower(a[i - 1]) == Lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      bool swapped = i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) &&
                     Lower(a[i - 2]) == Lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view nearest;
  size_t fewest = std::max<size_t>(1, name.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    if (candidate.empty() || candidate == name) continue;
    size_t longer = std::max(name.size(), candidate.size());
    size_t shorter = std::min(name.size(), candidate.size());
    if (longer - shorter >= fewest) continue;
    size_t distance = EditDistance(name, candidate);
    if (distance < fewest && distance < longer) {
      fewest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string QuotedList(std::span<const std::string_view> names, std::string_view last_joint) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? fmt::format(" {} ", last_joint) : ", ";
    text += fmt::format("'{}'", names[i]);
  }
  return text;
}

std::vector<std::string_view> NamesIn(std::string_view text) {
  std::vector<std::string_view> names;
  while (!text.empty()) {
    names.push_back(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(names.back().size() + 1, text.size()));
  }
  return names;
}

}  // namespace kdl
