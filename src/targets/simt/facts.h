#pragma once

#include <cstdint>
#include <span>

#include "passes/names.h"
#include "passes/pass_manager.h"
#include "passes/target_facts.h"

namespace kdl::simt {

struct MmaShape;

// Its passes use the shared ones' tools freely.
using namespace passes;

/// A machine whose core is a team of workers that run one code, besides what every target has.
struct SimtFacts : passes::TargetFacts {
  int64_t threads = 128;       ///< of a core
  int64_t most_threads = 256;  ///< where a kernel's products are large
  int64_t held_bytes = 256;    ///< of a product that a worker has in registers
  bool in_vectors = false;     ///< a worker computes with what is side by side at once
  int64_t copy_bytes = 0;      ///< that go to near memory at once, past the registers; 0: none do
  int64_t vector_bytes = 0;    ///< that a worker loads or stores at once; 0: single elements
  bool vectors_anywhere =
      false;  ///< and these may lie anywhere, not only at multiples of their bytes
  std::span<const MmaShape> mma_shapes;  ///< the best one first
  /// A core goes from each of its blocks to the next one, without a division; else any turn tells its block by itself, so that
  /// turns before it can begin its copies.
  bool walks_blocks = true;
  /// Cores share a cache, in which a product's rows and columns stay that several of them read at a time.
  bool groups_blocks = false;
  bool global_pipes =
      false;  ///< tiles of pipes lie in the memory of the launch, not near the workers
  int64_t workgroup_bytes =
      32 << 10;  ///< memory of a core that every such machine has near its workers
  int64_t ring_bytes =
      workgroup_bytes;  ///< of it what leaves room for another team, which works while this one waits
};

/// Of a pass of this family's.
const SimtFacts& FactsOf(const passes::PassContext& context);

}  // namespace kdl::simt
