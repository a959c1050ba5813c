#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace kdl {

/// Sorts by `key(element)` in ascending order, and keeps the order of elements with equal keys. clang reports a deprecated
/// function in the implementation of std::stable_sort.
template <class T, class Key>
void SortBy(std::vector<T>& list, Key key) {
  using KeyOf = decltype(key(list.front()));
  std::vector<std::pair<KeyOf, size_t>> order;
  for (size_t i = 0; i < list.size(); ++i) order.emplace_back(key(list[i]), i);
  std::ranges::sort(order);
  std::vector<T> sorted;
  sorted.reserve(list.size());
  for (const auto& [unused, i] : order) sorted.push_back(std::move(list[i]));
  list = std::move(sorted);
}

}  // namespace kdl
