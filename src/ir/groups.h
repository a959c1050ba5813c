#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/op.h"
#include "support/size.h"

namespace kdl::ir {

// The order of reductions over blocks, which LANGUAGE.md defines. The loop variables of an spmd that is
// distributed in groups are of two kinds: every reduction keeps the first kind (AttrKey::Kept), and combines
// the blocks of the second. The combined blocks are numbered so that the last variable varies fastest, and
// cut into segments of consecutive blocks. A core runs whole segments, so that results do not depend on the
// number of cores.

inline constexpr int64_t kMostLevels = 8;  ///< of the binary tree that combines the segments
inline constexpr int64_t kMostSegments = int64_t{1} << kMostLevels;

/// A segment has at least four blocks if there are so many. So what combining the segments costs is small next to
/// the work of the blocks.
inline constexpr int64_t kLeastBlocks = 4;

inline int64_t SegmentCount(int64_t blocks) {
  int64_t whole = blocks / kLeastBlocks;
  return std::min(blocks % kLeastBlocks == 0 ? whole : whole + 1, kMostSegments);
}
Size SegmentCount(SizeTable& sizes, Size blocks);

/// Returns the number of the first of `blocks` that is in a segment, which is floor(segment * blocks /
/// segments). If segment == segments, this is the total number of blocks.
inline int64_t SegmentBegin(int64_t segment, int64_t blocks, int64_t segments) {
  return segment * (blocks / segments) + segment * (blocks % segments) / segments;
}

/// Returns the segment that contains the block.
inline int64_t SegmentOfBlock(int64_t block, int64_t blocks) {
  int64_t segments = SegmentCount(blocks);
  auto after = static_cast<unsigned __int128>(block + 1) * static_cast<uint64_t>(segments) - 1;
  return static_cast<int64_t>(after / static_cast<uint64_t>(blocks));
}

/// The loop variables of an spmd that is distributed in groups, as positions in ascending order.
struct GroupVariables {
  std::vector<size_t> outer;     ///< the kept variables before the first combined one
  std::vector<size_t> combined;  ///< the variables whose blocks are combined
  std::vector<size_t> inner;     ///< the kept variables after the first combined one
};
GroupVariables GroupVariablesOf(const Op* spmd);

/// Returns whether both spmds distribute the same blocks in the same way.
bool AreDistributedAlike(const Op* a, const Op* b);

}  // namespace kdl::ir
