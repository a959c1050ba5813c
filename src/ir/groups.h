#pragma once

#include <algorithm>
#include <cstdint>

namespace kdl::ir {

// The blocks of an spmd that is dealt in groups: one core runs a whole group, and what the groups have folded depends on
// neither the number of cores nor on who ran what.

inline constexpr int64_t kMostGroups = 256;

inline int64_t GroupsOf(int64_t blocks) { return std::min(blocks, kMostGroups); }

/// floor(group * blocks / groups), the first block of a group; of `groups` the number of blocks.
inline int64_t GroupBegin(int64_t group, int64_t blocks, int64_t groups) {
  return group * (blocks / groups) + group * (blocks % groups) / groups;
}

/// The group that has the block.
inline int64_t GroupOf(int64_t block, int64_t blocks) {
  int64_t groups = GroupsOf(blocks);
  auto behind = static_cast<unsigned __int128>(block + 1) * static_cast<uint64_t>(groups) - 1;
  return static_cast<int64_t>(behind / static_cast<uint64_t>(blocks));
}

}  // namespace kdl::ir
