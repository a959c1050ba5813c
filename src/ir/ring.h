#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "ir/op.h"

namespace kdl::ir {

/// How a pipe lies in an instance's workspace: a header, then `depth` slots, tile number n in slot n mod depth.
/// The header begins with two counters, i64: the tiles pushed and the tiles popped so far. A slot begins with the numbers of
/// elements that exist, an i64 for each of 8 dimensions; the tile's elements follow, row-major over the pipe's extents.
/// The one description: lay-out-pipes writes it into the `pipe` op, and everybody else reads it there.
struct Ring {
  int64_t offset = 0;  ///< bytes, from the start of the instance's workspace
  int64_t header = 0;  ///< bytes
  int64_t slot = 0;    ///< bytes
  int64_t depth = 1;

  int64_t bytes() const { return header + depth * slot; }
};

inline constexpr int64_t kRingHeaderBytes = 64;  ///< a line of its own
inline constexpr int64_t kRingPushed = 0;        ///< where in the header the counters are
inline constexpr int64_t kRingPopped = 8;
inline constexpr int64_t kSlotSizesBytes = 64;

/// Bytes of a slot for tiles of a pipe's type, whose extents are constants: whole lines of 64. Nothing: above 2^62.
std::optional<int64_t> SlotBytes(Type pipe);

/// The record of a `pipe` op that lay-out-pipes has seen.
Ring RingOf(const Op* pipe);

/// The `pipe` ops of a kernel, in order.
std::vector<Op*> PipesOf(const Function& kernel);

/// What a stage that cannot go on waits for, at an op that suspends it: "'q.push(v)' waits for a free slot of 'q'".
std::string WaitingText(const Op& op, Name pipe);

/// Bytes of workspace that one instance of the kernel takes: 0 without rings.
int64_t Footprint(const Function& kernel);

}  // namespace kdl::ir
