#pragma once

#include <cstdint>
#include <span>

#include "passes/names.h"
#include "passes/pass_manager.h"
#include "passes/target_facts.h"

namespace kdl::simt {

struct MmaShape;

// The passes of this family use the shared passes' tools freely.
using namespace passes;

/// Describes a machine whose cores are workgroups of GPU threads that all run one kernel.
struct SimtFacts : passes::TargetFacts {
  int64_t threads = 128;  ///< the number of GPU threads of a core
  /// The number of GPU threads of a core in kernels with large products.
  int64_t most_threads = 256;
  int64_t held_bytes = 256;  ///< the bytes of a product's result in a thread's registers
  bool in_vectors = false;   ///< whether a thread computes contiguous elements as a vector
  /// The number of bytes that one asynchronous copy to workgroup memory moves; 0 if there are no such copies.
  int64_t copy_bytes = 0;
  /// The bytes that a thread loads or stores at once; 0 for single elements.
  int64_t vector_bytes = 0;
  bool vectors_anywhere = false;         ///< whether such vectors need not be aligned to their size
  std::span<const MmaShape> mma_shapes;  ///< the best one first
  /// Whether a core steps from each of its blocks to the next without a division. Otherwise each iteration
  /// computes its block from the iteration's number, so that earlier iterations can begin the block's copies.
  bool walks_blocks = true;
  /// Whether cores share a cache. Blocks of a product are then ordered so that the rows and columns that
  /// several cores read at the same time stay in the cache.
  bool groups_blocks = false;
  bool global_pipes =
      false;  ///< whether tiles of pipes are in global memory, not in workgroup memory
  /// The bytes of workgroup memory that every such machine has.
  int64_t workgroup_bytes = 32 << 10;
  /// The number of bytes of workgroup memory that a workgroup may use so that there is room for a second
  /// workgroup, which computes while the first one waits.
  int64_t ring_bytes = workgroup_bytes;
};

/// Returns the facts for a pass of this family.
const SimtFacts& SimtFactsOf(const passes::PassContext& context);

}  // namespace kdl::simt
