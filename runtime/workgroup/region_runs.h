// Iterates over the contiguous runs of a region, or over the rectangles that they form.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

// Calls `run(to_offset, from_offset)` for each run until a call returns a status other than `success`.
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

// Runs of equal length at a constant distance.
struct Rectangle {
  std::size_t to;
  std::size_t from;
  std::size_t bytes;  // the length of each run
  std::size_t rows;
  std::size_t to_pitch;
  std::size_t from_pitch;
};

// Calls `each` for each rectangle, like ForEachRun. If the runs that differ only in the last index are in
// ascending order and disjoint, they form one rectangle, which drivers copy with one call.
template <class Status, class Each>
Status ForEachRectangle(const kdl_region& region, Status success, const Each& each) {
  constexpr std::int64_t kMostPitch = INT32_MAX;
  const auto bytes = static_cast<std::size_t>(region.run_bytes);
  const int last = region.rank - 1;
  auto is_pitch = [&](std::int64_t step) { return step >= region.run_bytes && step <= kMostPitch; };
  const bool together = last >= 0 && region.count[last] > 1 && is_pitch(region.to_step[last]) &&
                        is_pitch(region.from_step[last]);
  if (!together) {
    return ForEachRun(region, success, [&](std::size_t to, std::size_t from) {
      return each(Rectangle{to, from, bytes, 1, bytes, bytes});
    });
  }
  kdl_region outer = region;
  outer.rank = last;
  return ForEachRun(outer, success, [&](std::size_t to, std::size_t from) {
    return each(Rectangle{to, from, bytes, static_cast<std::size_t>(region.count[last]),
                          static_cast<std::size_t>(region.to_step[last]),
                          static_cast<std::size_t>(region.from_step[last])});
  });
}

}  // namespace kdl::runtime
