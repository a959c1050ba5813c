#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "ir/op.h"

namespace kdl::ir {

/// The layout of a pipe's ring buffer, which is in the workspace of an instance (a running core): a header,
/// then `depth` slots. Tile number n is in slot n mod depth. The header begins with two i64 counters: how
/// many tiles have been pushed, and how many have been popped. A slot begins with 8 numbers (i64), which say
/// how many elements exist along each of 8 dimensions. The tile's elements follow, row-major over the pipe's
/// extents. Only this file defines the layout: the pass lay-out-pipes stores it in the `pipe` op, and all
/// other code reads it from there.
struct Ring {
  int64_t offset = 0;  ///< in bytes, from the start of the instance's workspace
  int64_t header = 0;  ///< size in bytes
  int64_t slot = 0;    ///< size in bytes
  int64_t depth = 1;

  int64_t bytes() const { return header + depth * slot; }
};

/// The size of a cache line, so that the header and the first slot are in different lines.
inline constexpr int64_t kRingHeaderBytes = 64;
/// The byte offset of the counter of pushed tiles in the header.
inline constexpr int64_t kRingPushed = 0;
inline constexpr int64_t kRingPopped = 8;
inline constexpr int64_t kSlotSizesBytes = 64;

/// Returns the bytes of a slot for tiles of a pipe's type, rounded up to a multiple of 64. The extents must
/// be constants. Returns nothing if the result would exceed 2^62.
std::optional<int64_t> SlotBytes(Type pipe);

/// Returns the layout that the pass lay-out-pipes has stored in a `pipe` op.
Ring RingOf(const Op* pipe);

/// Returns the `pipe` ops of a kernel, from first to last.
std::vector<Op*> PipesOf(const Function& kernel);

/// Returns text about what a suspended stage waits for at `op`, such as "'q.push(v)' waits for a free slot of
/// 'q'".
std::string WaitingText(const Op& op, Name pipe);

/// Returns the bytes of workspace that one instance of the kernel needs; 0 if no pipe needs workspace.
int64_t Footprint(const Function& kernel);

}  // namespace kdl::ir
