// The contiguous runs of a region.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

// Calls `run(to_offset, from_offset)` for each, until one gives another status than `success`.
template <class Status, class Run>
Status ForEachRun(const kdl_region& region, Status success, const Run& run) {
  std::int64_t index[8] = {};
  for (;;) {
    std::int64_t to = region.to_offset;
    std::int64_t from = region.from_offset;
    for (int d = 0; d < region.rank; ++d) {
      to += index[d] * region.to_step[d];
      from += index[d] * region.from_step[d];
    }
    const Status status = run(static_cast<std::size_t>(to), static_cast<std::size_t>(from));
    if (status != success) return status;
    int d = region.rank;
    while (d > 0 && ++index[d - 1] == region.count[d - 1]) index[--d] = 0;
    if (d == 0) return success;
  }
}

}  // namespace kdl::runtime
