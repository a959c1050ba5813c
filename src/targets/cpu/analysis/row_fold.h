#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// A fold in one chain that reads its terms once, each row where it lies: rows lie along the result's last axis, and a factor has
/// axes of its own, which read the other one again, for a few elements at most. A factor of numbers alone, one a row, may have been made before.
struct RowFold {
  ir::Value* block = nullptr;  ///< what is folded, row by row
  std::vector<const ir::Op*>
      makers{};  ///< of the terms, from their loads on; those that come last first
};

/// The values that a reduction or contraction folds.
std::vector<ir::Value*> TermsOf(const ir::Op* fold);

/// Whether nothing from the op up to the fold, in one block, writes what the op may read.
bool NothingWritesBetween(const ir::Op* op, const ir::Op* fold);

/// So often what lies in rows is read at most: packing it would take longer.
inline constexpr int64_t kFewRows = 4;

/// What a row of accumulators takes at most, so that it stays in the nearest cache.
inline int64_t MostAccumulatorBytes(const ProcessorFacts& facts) { return facts.l1_bytes / 2; }

/// Nothing where the op is no such fold. As if blocks of axis `few`, where it is valid, had few elements. Extents may be unknown yet.
std::optional<RowFold> RowFoldOf(const ir::Op* op, const KernelShape& kernel, ir::AxisId few = {});

}  // namespace kdl::cpu
