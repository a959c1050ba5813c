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

/// A machine whose cores are workgroups: GPU threads that all run one kernel.
struct SimtFacts : passes::TargetFacts {
  int64_t threads = 128;       ///< GPU threads of a core
  int64_t most_threads = 256;  ///< in kernels with large products
  int64_t held_bytes = 256;    ///< bytes of a product in a thread's registers
  bool in_vectors = false;     ///< whether a thread computes contiguous elements as a vector
  /// Bytes that one asynchronous copy to workgroup memory moves; 0: there are none.
  int64_t copy_bytes = 0;
  int64_t vector_bytes = 0;  ///< bytes that a thread loads or stores at once; 0: single elements
  bool vectors_anywhere = false;         ///< whether such vectors need not be aligned to their size
  std::span<const MmaShape> mma_shapes;  ///< the best one first
  /// Whether a core steps from each of its blocks to the next without a division. Otherwise each iteration
  /// computes its block from its own number, so that earlier iterations can begin its copies.
  bool walks_blocks = true;
  /// Whether cores share a cache. Blocks of a product are then ordered so that the rows and columns that
  /// several cores read at a time stay in it.
  bool groups_blocks = false;
  bool global_pipes =
      false;  ///< whether tiles of pipes are in global memory, not in workgroup memory
  int64_t workgroup_bytes = 32 << 10;  ///< bytes of workgroup memory that every such machine has
  /// The bytes of workgroup memory that leave room for a second workgroup, which computes while this one
  /// waits.
  int64_t ring_bytes = workgroup_bytes;
};

/// Returns the facts for a pass of this family.
const SimtFacts& SimtFactsOf(const passes::PassContext& context);

}  // namespace kdl::simt
