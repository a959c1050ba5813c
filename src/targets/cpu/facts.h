#pragma once

#include <cstdint>

#include "codegen/llvm/processor.h"
#include "passes/names.h"
#include "passes/pass_manager.h"
#include "passes/target_facts.h"

namespace kdl::cpu {

// Its passes use the shared ones' tools freely.
using namespace passes;

/// A processor, besides what every target has: one thread with vectors is a core, and memory is near it in caches.
struct ProcessorFacts : passes::TargetFacts {
  codegen::Processor processor;
  int vector_registers = 16;
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;
  int64_t last_level_bytes = 0;  ///< an output above this goes past the caches; 0: none does
  int64_t cache_line_bytes = 64;
  bool asks_for_reads =
      true;  ///< what is read once, side by side, comes sooner where it is asked for ahead; else along several rows at once,
             ///< and hints are few
};

/// Of a pass of this family's.
const ProcessorFacts& FactsOf(const passes::PassContext& context);

/// Whether a step of the unit is an instruction; not where there is no unit.
bool IsNative(const ProcessorFacts& facts, const ir::MatrixInstruction* instruction);

/// A block of accumulators that is `columns` vectors wide may be so many rows high: they, a vector a column and one of a
/// spread scalar fill the registers.
inline int64_t BlockRows(const ProcessorFacts& facts, int64_t columns) {
  return (facts.vector_registers - 1 - columns) / columns;
}
/// As far a processor looks ahead along what it reads.
inline constexpr int64_t kPageBytes = 4096;
/// So many rows that are read once go together, where they lie in pages of their own: accumulators pass between registers and the
/// nearest cache once for all.
inline constexpr int64_t kRowsAtOnce = 4;
/// The columns of a block: with two each spread scalar is used twice, and many rows still fit.
inline constexpr int64_t kBlockColumns = 2;

}  // namespace kdl::cpu
