#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "targets/cpu/analysis/rereads.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// The range of a loop, and the number of elements that each iteration covers.
struct Iterations {
  ir::Value* lo;  ///< available before the spmd, or a constant
  ir::Value* hi;  ///< like `lo`
  int64_t extent;
};

/// The bytes of a row of a tile: `bytes` times the product of `sizes`.
struct RowTile {
  int64_t bytes;
  std::vector<ir::Value*> sizes;  ///< known at launch, and available before the spmd
};

/// The tiles in an spmd that have the rows of a block. Each row covers a whole dimension.
struct RowTiles {
  std::vector<RowTile> tiles;
  bool are_vectorized = false;  ///< whether the rows are in the lanes of vectors
};

/// Describes how the blocks of an `spmd` may be formed and numbered. All `spmd`s over the same domain have
/// the same block order, so a core gets the same blocks in each of them.
struct Walk {
  /// The positions of the binders (the induction variables of the `spmd`). They are sorted by the dimension
  /// of the stored tensors that the binder indexes, outermost first.
  std::vector<size_t> order;
  /// For each binder, whether no result depends on the length of its blocks.
  std::vector<bool> free;
  /// For each binder, the granule of its blocks: the smallest length that fills complete vectors, rows or
  /// cache lines, and takes as long as it takes to wake a thread.
  std::vector<int64_t> granule;
  /// For each binder, the rows that its blocks read several times, unless the blocks are rows of a product.
  std::vector<std::vector<Rereads::Rows>> rereads;
  /// For each binder, the loops along rows that are read only once and are reduced in 64-lane order (with 64
  /// partial results). With blocks of several rows, a core would go to the next row after each iteration, but
  /// prefetches are effective only along a single row.
  std::vector<std::vector<Iterations>> row_loops;
  /// For each binder, the tiles whose rows cover whole dimensions; empty if there are none. The selected block
  /// size assumes short rows, so blocks of long rows are shortened at launch.
  std::vector<RowTiles> row_tiles;
  /// Whether blocks store only short runs of memory. If so, each core should get its own part of the
  /// outermost binder's range.
  bool narrow = false;
};

/// The block order of each `spmd` of a kernel.
using Walks = std::vector<std::pair<ir::Op*, Walk>>;

/// Whether no result depends on the length of a binder's blocks. No op may reduce over the binder's axis or
/// split it. No op may use a block's start, size or index, or run once per block. Also, no index may access
/// an element that another index of the same block writes.
bool IsFree(const ir::Function& kernel, const ir::Value* binder);

Walks BlockOrdersOf(const ir::Function& kernel, const ProcessorFacts& target);

}  // namespace kdl::cpu
