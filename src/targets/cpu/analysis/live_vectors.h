#pragma once

#include <cstdint>

#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// Returns the size of the type of which a register contains a chunk of the elementwise loop. That is
/// LastAxis::ChunkBytes, or twice as much if wide integers would otherwise need more registers than there are.
int64_t ChunkBytesOf(const ir::Op* elementwise, const LastAxis& last, const ProcessorFacts& facts);

}  // namespace kdl::cpu
