#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "passes/analysis/axis_order.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// A fold in one chain that reads its terms once, each row where it lies: rows lie along the result's last axis, and no factor has
/// an axis of its own that would read the other one again. A factor of numbers alone, one a row, may have been made before.
struct RowFold {
  ir::Value* blk = nullptr;  ///< what is folded, row by row
  std::vector<const ir::Op*>
      makers{};  ///< of the terms, from their loads on; those that come last first
};

/// The values that a reduction or contraction folds.
std::vector<ir::Value*> TermsOf(const ir::Op* fold);

/// Whether nothing from the op up to the fold, in one block, writes what the op may read.
bool NothingWritesBetween(const ir::Op* op, const ir::Op* fold);

/// What the accumulators take at most, so that they stay in the nearest cache.
inline int64_t MostAccumulatorBytes(const ProcessorFacts& facts) { return facts.l1_bytes / 2; }

/// Nothing where the op is no such fold.
std::optional<RowFold> RowFoldOf(const ir::Op* op, const passes::AxisOrder& order);

}  // namespace kdl::cpu
