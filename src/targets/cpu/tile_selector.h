#pragma once

#include <memory>

#include "passes/target_facts.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// Returns a selector that chooses blocks such that a kernel's tiles fit into the caches. The source file
/// describes the model.
std::unique_ptr<const passes::TileSelector> MakeTileSelector(const ProcessorFacts& facts);

/// Returns how many bytes of tiles should fit into the caches if the kernel contains no contraction.
int64_t StreamedTileBudget(const ProcessorFacts& facts);

/// Returns how long the rows of a block without contractions should be, in bytes. If a block has several rows, some of
/// them should fit into L1 together.
int64_t LongestRunBytes(bool has_rows);

/// Whether the op makes a block that covers a dimension whose size is known only at launch.
bool IsWholeDimension(const ir::Op* op);

}  // namespace kdl::cpu
