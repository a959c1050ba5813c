#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver/ranks/boxes.h"

namespace kdl::driver {

/// Calls `use(first, count)` for each run of adjacent elements of the box, in ascending order, in a row-major tensor of these
/// sizes. `first` is the number of an element of the tensor.
template <class Use>
void ForEachRun(const std::vector<int64_t>& sizes, const Box& box, Use use) {
  if (IsEmpty(box)) return;
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  // A run has all indices of the last dimensions, and adjacent ones of the dimension before them.
  size_t outer = sizes.size();
  int64_t count = 1;
  for (bool is_whole = true; outer > 0 && is_whole;) {
    --outer;
    count *= box[outer].end - box[outer].first;
    is_whole = box[outer] == Indices{0, sizes[outer]};
  }
  std::vector<int64_t> index;
  for (const Indices& part : box) index.push_back(part.first);
  for (;;) {
    int64_t first = 0;
    for (size_t d = 0; d < sizes.size(); ++d) first += index[d] * strides[d];
    use(first, count);
    size_t d = outer;
    while (d > 0 && ++index[d - 1] == box[d - 1].end) {
      index[d - 1] = box[d - 1].first;
      --d;
    }
    if (d == 0) return;
  }
}

}  // namespace kdl::driver
