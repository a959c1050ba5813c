#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// A reduction in sequential order that reads its terms only once, row by row, from where they are in memory.
/// Rows run along the result's last axis. If a factor has an axis of its own, the other factor is read again
/// for each element of that axis, so there must be few of them. A factor with only one number per row may
/// already have been computed.
struct RowFold {
  ir::Value* block = nullptr;  ///< the block along the reduced axis
  /// The ops that compute the terms, from their loads on; the last one comes first.
  std::vector<const ir::Op*> makers{};
};

/// Returns the values that a reduction or contraction reduces.
std::vector<ir::Value*> TermsOf(const ir::Op* fold);

/// Whether no op between `op` and `multi_reduce`, which are in the same region, writes what `op` may read.
bool NothingWritesBetween(const ir::Op* op, const ir::Op* fold);

/// The most times that rows are read from memory. If they are read more often, it is faster to pack them.
inline constexpr int64_t kFewRows = 4;

/// Returns the largest size of a row of accumulators that stays in the nearest cache.
inline int64_t MostAccumulatorBytes(const ProcessorFacts& facts) { return facts.l1_bytes / 2; }

/// Returns nothing if the op is not such a reduction. Blocks of the axis `few`, if that is valid, are assumed
/// to have few elements. Extents may still be unknown.
std::optional<RowFold> RowFoldOf(const ir::Op* op, const KernelShape& kernel, ir::AxisId few = {});

}  // namespace kdl::cpu
