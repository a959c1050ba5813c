#pragma once

#include <algorithm>

namespace kdl {

template <class Range, class Item>
constexpr bool Contains(const Range& range, const Item& item) {
  return std::ranges::find(range, item) != std::ranges::end(range);
}

}  // namespace kdl
