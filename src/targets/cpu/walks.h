#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "targets/cpu/analysis/rereads.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// A loop's range, and how much of it a turn takes.
struct Iterations {
  ir::Value* lo;  ///< there where the spmd is, or a constant, as is hi
  ir::Value* hi;
  int64_t extent;
};

/// How the blocks of an `spmd` may be made and numbered. All that walk one domain have the same: a core gets the same
/// blocks of each.
struct Walk {
  /// The binders' numbers, outermost first, as the dimensions of what is stored have them.
  std::vector<size_t> order;
  /// Per binder: no result depends on how long its blocks are.
  std::vector<bool> free;
  /// Per binder: blocks shorter than this waste what a core does at once.
  std::vector<int64_t> granule;
  /// Per binder: what its blocks go over again.
  std::vector<std::vector<Rereads::Rows>> rereads;
  /// Per binder: the loops along rows that are folded in lanes, each read once. Blocks of several rows would go on with the
  /// next row where a turn ends, and a processor that is asked to fetches ahead along one.
  std::vector<std::vector<Iterations>> row_loops;
  /// Blocks store short runs of memory: each core wants a part of the outermost binder to itself.
  bool narrow = false;
};

/// Of each `spmd` of a kernel.
using Walks = std::vector<std::pair<ir::Op*, Walk>>;

/// Whether nobody can see how long a binder's blocks are: nothing folds over its axis, splits it, asks for its facts, or is done
/// once for each block, and no index reads or writes again what another one of its block writes.
bool IsFree(const ir::Function& kernel, const ir::Value* binder);

Walks WalksOf(const ir::Function& kernel, const ProcessorFacts& target);

}  // namespace kdl::cpu
