#pragma once

#include <cstdint>

#include "codegen/llvm/processor.h"
#include "passes/names.h"
#include "passes/pass_manager.h"
#include "passes/target_facts.h"

namespace kdl::cpu {

// Lets the passes of this family use the shared passes' utilities without a prefix.
using namespace passes;

/// Describes a processor. A core is one thread with vectors, and its memory is cached.
struct ProcessorFacts : passes::TargetFacts {
  codegen::Processor processor;
  int vector_registers = 16;
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;
  int64_t last_level_bytes = 0;  ///< outputs larger than this bypass the caches; 0 if none do
  int64_t cache_line_bytes = 64;
  /// The size of the narrowest elements that masked vector loads and stores support. Other masked accesses run
  /// lane by lane.
  int64_t least_masked_bytes = 1;
  /// Whether software prefetches save time for contiguous data that is read once. If not, few prefetches are
  /// emitted, and it is faster to read several rows at once.
  bool asks_for_reads = true;
};

/// Returns the facts for a pass of this family.
const ProcessorFacts& ProcessorFactsOf(const passes::PassContext& context);

/// Whether the processor has the matrix instruction. If not, other instructions emulate it. False if
/// `instruction` is null.
bool IsNative(const ProcessorFacts& facts, const ir::MatrixInstruction* instruction);

/// Returns the maximum number of rows in a block of accumulators that is `columns` vectors wide. The
/// registers hold the accumulators, one vector for each column, and one vector for a splat scalar.
inline int64_t BlockRows(const ProcessorFacts& facts, int64_t columns) {
  return (facts.vector_registers - 1 - columns) / columns;
}
/// The size of a page. Hardware prefetchers do not cross page boundaries.
inline constexpr int64_t kPageBytes = 4096;
/// The number of rows that are processed together if they are read only once and lie in different pages. The
/// accumulators are then loaded and stored once for all of these rows.
inline constexpr int64_t kRowsAtOnce = 4;
/// The number of columns of a register block, in vectors. With two columns, each splat scalar is used twice,
/// and the block can still have many rows.
inline constexpr int64_t kBlockColumns = 2;

}  // namespace kdl::cpu
