#pragma once

#include <cstdint>
#include <vector>

namespace kdl {

/// The highest number of ranks of a device.
inline constexpr int64_t kMostRanks = 65536;

/// The greatest length of the blocks in which a dimension can be distributed.
inline constexpr int64_t kMostRankBlock = int64_t{1} << 31;

/// In place of an axis of a grid of ranks: a dimension is distributed over all ranks of the grid, in balanced parts.
inline constexpr int64_t kAllRanks = -2;

/// Returns whether a grid of ranks can have these numbers of ranks along its axes.
inline bool IsRankShape(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t along : shape) {
    if (along < 1 || along > kMostRanks / count) return false;
    count *= along;
  }
  return !shape.empty();
}

}  // namespace kdl
