#include "sema/scopes.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace kdl::sema {

namespace {

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Insertions, deletions, replacements and swaps of neighbours that lead from a to b.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::vector<size_t> next(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
    }
    before = std::exchange(row, next);
  }
  return row[b.size()];
}

}  // namespace

const Entity* Scopes::Find(Name name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto found = scope->find(name);
    if (found != scope->end()) return found->second;
  }
  auto found = items_->find(name);
  return found == items_->end() ? nullptr : found->second;
}

std::vector<std::string_view> Scopes::AllNames() const {
  std::vector<std::string_view> names;
  for (const auto& [name, entity] : *items_) names.push_back(name.text());
  for (const Scope& scope : scopes_) {
    for (const auto& [name, entity] : scope) names.push_back(name.text());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& candidates) {
  constexpr size_t kLongest = 40;
  if (name.size() > kLongest) return {};
  std::string_view best;
  size_t best_distance = (name.size() + 1) / 3 + 1;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > kLongest || candidate == name) continue;
    bool same_letters = std::equal(name.begin(), name.end(), candidate.begin(), candidate.end(),
                                   [](char a, char b) { return Lower(a) == Lower(b); });
    size_t distance = same_letters ? 0 : EditDistance(name, candidate);
    if (distance < best_distance && distance < std::max(name.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace kdl::sema
