#pragma once

#include <cstdint>
#include <span>

#include "passes/names.h"
#include "passes/pass_manager.h"
#include "passes/target_facts.h"

namespace kdl::simt {

struct MmaShape;

// Passes of this family use names from `passes` without a prefix.
using namespace passes;

/// Describes a machine whose cores are workgroups of GPU threads that all run one kernel.
struct SimtFacts : passes::TargetFacts {
  SimtFacts() { enough_groups = 512; }

  int64_t threads = 128;  ///< the number of GPU threads of a core
  /// The number of GPU threads of a core if the kernel contains large products.
  int64_t most_threads = 256;
  int64_t held_bytes = 256;  ///< the maximum bytes of a product's result in one thread's registers
  bool in_vectors = false;   ///< whether a thread computes contiguous elements as a vector
  /// The number of bytes that one asynchronous copy to workgroup memory moves, or 0 if there are no such
  /// copies.
  int64_t copy_bytes = 0;
  /// The number of bytes in a vector access of a thread, or 0 if threads access only single elements.
  int64_t vector_bytes = 0;
  bool vectors_anywhere = false;         ///< whether vector accesses may be unaligned
  std::span<const MmaShape> mma_shapes;  ///< the best shape first
  /// Whether a core derives its next block from the current one, without a division. Otherwise, each
  /// iteration computes its block from the iteration's number, so that earlier iterations can begin the
  /// block's copies.
  bool walks_blocks = true;
  /// Whether cores share a cache. If so, blocks of a product are ordered so that the rows and columns that
  /// several cores read at the same time stay in the cache.
  bool groups_blocks = false;
  /// Whether the tiles in pipes are in global memory instead of workgroup memory.
  bool global_pipes = false;
  /// The number of bytes of workgroup memory that every such machine has.
  int64_t workgroup_bytes = 32 << 10;
  /// The amount of workgroup memory in a multiprocessor, which all workgroups that run on it share, or 0 if unknown.
  int64_t multiprocessor_bytes = 0;
  int64_t reserved_bytes = 0;  ///< bytes of it that the driver takes for each workgroup
  /// The number of bytes of workgroup memory that a workgroup may use so that a second workgroup also has
  /// room. One of them computes while the other one waits.
  int64_t ring_bytes = workgroup_bytes;
};

/// Returns the facts about the machine for which a pass compiles.
const SimtFacts& SimtFactsOf(const passes::PassContext& context);

}  // namespace kdl::simt
