#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// A reduction in sequential order that reads its terms only once, row by row, directly from memory. Rows are
/// along the result's last axis. If only one factor has a certain axis, the other factor is read again for
/// each element of that axis. Therefore such an axis must be short. A factor without the last axis may be a
/// tile that was computed earlier.
struct RowFold {
  ir::Value* block = nullptr;  ///< the block along the reduced axis
  /// The ops that compute the terms, including the loads, with the last op first.
  std::vector<const ir::Op*> makers{};
};

/// Returns the values that a reduction or contraction reduces.
std::vector<ir::Value*> TermsOf(const ir::Op* fold);

/// Whether the reduction is a product whose terms are added in pairs, with instructions for single terms.
bool AddsPairs(const ir::Op* fold, const ProcessorFacts& facts);

/// Whether no op between `op` and `fold`, which are in the same region, writes memory that `op` may read.
bool NothingWritesBetween(const ir::Op* op, const ir::Op* fold);

/// The maximum number of times that rows are read from memory. If they are read more often, packing them is
/// faster.
inline constexpr int64_t kFewRows = 4;
/// The same for rows of at most `kShortRowBytes`, which are in the L1 cache when they are read again.
inline constexpr int64_t kFewShortRows = 8;
inline constexpr int64_t kShortRowBytes = 1024;

/// Returns the largest size of a row of accumulators that stays in the L1 cache.
inline int64_t MostAccumulatorBytes(const ProcessorFacts& facts) { return facts.l1_bytes / 2; }

/// Describes the op as a `RowFold`. Returns nothing if it is not such a reduction. If `few` is valid, blocks
/// of that axis are assumed to have few elements. The extents of axes may still be unknown.
std::optional<RowFold> RowFoldOf(const ir::Op* op, const KernelShape& kernel, ir::AxisId few = {});

}  // namespace kdl::cpu
