#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/op.h"

namespace kdl::cpu {

/// Where an access finds its elements if a vector runs over the last two axes of an elementwise loop, called
/// pixels and channels. For channel c of pixel n, the element is `length * n + factor * c + first` elements after
/// the one at the first pixel and channel 0.
struct FusedAccess {
  int64_t length = 0;
  int64_t factor = 0;
  int64_t first = 0;
  bool joins_rows = false;  ///< whether each pixel is a row, and rows must adjoin

  bool IsUniform() const { return length == 0 && factor == 0; }
  bool IsContiguous(int64_t channels) const {
    return length == channels && factor == 1 && first == 0;
  }
};

/// The last two axes of an elementwise loop, if they can be treated as one. The last axis has few points, so that
/// a vector over both is much better filled.
struct FusedAxes {
  int64_t channels = 0;
  bool is_repeatable = true;  ///< whether the body may run twice for a point
  std::unordered_map<const ir::Op*, FusedAccess> accesses;
};

/// Returns nothing if the body must not run on vectors over both axes, or need not.
std::optional<FusedAxes> FuseAxes(const ir::Op* elementwise, int64_t channels);

}  // namespace kdl::cpu
