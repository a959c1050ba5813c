#pragma once

#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// The size of the parts of an x86 vector between which most shuffles move no lanes.
inline constexpr int64_t kPartBytes = 16;

// With AVX2, an instruction takes every second element of two vectors, but leaves results in the 128-bit parts of
// their sources. A second instruction brings them into the order of memory. If points are left in the order of the
// parts, only accesses to consecutive elements need that instruction:
//
//   x: 0 1 2 3 | 4 5 6 7   8 9 10 11 | 12 13 14 15   ->   even: 0 2 8 10 | 4 6 12 14

/// Returns the point of a vector's lane in that order. Points have elements of `bytes` bytes.
int64_t PointInLane(int64_t lane, int64_t lanes, int64_t bytes);

/// Whether the order saves instructions in a loop, and nothing else in the loop needs points in order.
bool SavesPermuting(const ProcessorFacts& facts, const ir::Op* elementwise, const LastAxis& last);

}  // namespace kdl::cpu
