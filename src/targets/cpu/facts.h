#pragma once

#include <cstdint>

#include "codegen/llvm/processor.h"
#include "passes/names.h"
#include "passes/pass_manager.h"
#include "passes/target_facts.h"

namespace kdl::cpu {

// Passes of this family use names from `passes` without a prefix.
using namespace passes;

/// Describes a processor. A core of a launch is one thread that uses vector instructions, and its memory is
/// cached.
struct ProcessorFacts : passes::TargetFacts {
  ProcessorFacts() { shows_variables = true; }

  codegen::Processor processor;
  int vector_registers = 16;
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;
  int64_t last_level_bytes = 0;  ///< outputs larger than this bypass the caches; 0 if none do
  int64_t cache_line_bytes = 64;
  /// The size of the narrowest elements that masked vector loads and stores support. Masked accesses to
  /// narrower elements run lane by lane.
  int64_t least_masked_bytes = 1;
  /// The size of the narrowest elements that vector instructions can compress, moving the lanes that a mask selects to
  /// the front.
  int64_t least_compressed_bytes = 16;
  /// Whether software prefetches save time if contiguous data is read only once. On processors where they do
  /// not, few prefetches are emitted, and it is faster to read several rows at once.
  bool asks_for_reads = true;
  /// Whether one instruction computes the maximum or minimum of floats with NaN and signed zeros as the
  /// language defines it.
  bool has_exact_extrema = false;
};

/// Returns the facts about the processor for which the current pass compiles. Only passes of the cpu family
/// may call this function, because other families have facts of another type.
const ProcessorFacts& ProcessorFactsOf(const passes::PassContext& context);

/// Whether the processor has the matrix instruction. If not, other instructions emulate it. False if
/// `instruction` is null.
bool IsNative(const ProcessorFacts& facts, const ir::MatrixInstruction* instruction);

/// Returns the maximum number of rows in a block of accumulators that is `columns` vectors wide. The
/// registers need room for the accumulators, for one vector of each column, and for one vector that contains
/// the same scalar in all lanes (a splat).
inline int64_t BlockRows(const ProcessorFacts& facts, int64_t columns) {
  return (facts.vector_registers - 1 - columns) / columns;
}
/// The size of a page. Hardware prefetchers do not cross page boundaries.
inline constexpr int64_t kPageBytes = 4096;
/// The number of rows that are processed together if they are read only once and lie in different pages.
/// Accumulators are loaded and stored only once for all of these rows.
inline constexpr int64_t kRowsAtOnce = 4;
/// The width of a register block, in vectors. With a width of two, each splat scalar is used twice, and there
/// are enough registers for many rows.
inline constexpr int64_t kBlockColumns = 2;

}  // namespace kdl::cpu
