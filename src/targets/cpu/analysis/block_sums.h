#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ir/module.h"

namespace kdl::cpu {

/// A sum of values, each multiplied by a constant, and a constant. A block stands for the indices along it.
struct BlockSum {
  std::vector<std::pair<const ir::Value*, int64_t>> terms;
  int64_t constant = 0;

  /// Returns the value, a scalar or a tile of i64, as a sum. Returns nothing if it is not a sum of indices along
  /// blocks, scalars and constants, or if its constants are very large.
  static std::optional<BlockSum> SumOfIndex(const ir::Value* value);

  /// Returns whether the index is between `start` and `end` - 1 at every point of its blocks.
  static bool IsWithin(const ir::Value* index, const ir::Value* start, const ir::Value* end);

  /// Returns the largest value that end - start can have, given the extents of blocks.
  static std::optional<int64_t> MostOf(const ir::Function& kernel, const ir::Value* end,
                                       const ir::Value* start);
};

}  // namespace kdl::cpu
