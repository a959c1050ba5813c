#pragma once

#include <algorithm>
#include <cstdint>

namespace kdl::ir {

// The largest number of groups of an spmd whose blocks are distributed in groups. One core runs a whole
// group, so that the results of a group do not depend on the number of cores or on the core that runs it.

inline constexpr int64_t kMostGroups = 256;

inline int64_t GroupCount(int64_t blocks) { return std::min(blocks, kMostGroups); }

/// Returns the number of the first block of a group, which is floor(group * blocks / groups). If group ==
/// groups, this is the total number of blocks.
inline int64_t GroupBegin(int64_t group, int64_t blocks, int64_t groups) {
  return group * (blocks / groups) + group * (blocks % groups) / groups;
}

/// Returns the group that contains the block.
inline int64_t GroupOfBlock(int64_t block, int64_t blocks) {
  int64_t groups = GroupCount(blocks);
  auto after = static_cast<unsigned __int128>(block + 1) * static_cast<uint64_t>(groups) - 1;
  return static_cast<int64_t>(after / static_cast<uint64_t>(blocks));
}

}  // namespace kdl::ir
