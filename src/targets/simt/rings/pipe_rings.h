#pragma once

#include <unordered_map>

#include "ir/builder.h"

namespace kdl::simt {

/// The ring buffer that implements a pipe: its tiles, and the numbers of tiles that have been pushed and
/// popped so far. The numbers are the same in all threads. Each thread keeps them in private memory.
struct Ring {
  /// A workgroup buffer whose dimensions are the depth and then the tile's extents.
  ir::Value* elements;
  ir::Value* sizes;  ///< the sizes of the tile in each slot; null if tiles have no dimensions
  ir::Value* pushed;
  ir::Value* popped;
  int64_t depth;
};

struct Rings {
  std::unordered_map<const ir::Value*, Ring> of;  ///< maps each pipe to its ring
  ir::Value* moved = nullptr;  ///< a cell that is set whenever a tile is pushed or popped
};

/// A cell is memory for one number, which is private to each thread.
ir::Value* NewCell(ir::Builder& b, Scalar scalar);
ir::Value* LoadCell(ir::Builder& b, ir::Value* cell);
void StoreCell(ir::Builder& b, ir::Value* value, ir::Value* cell);

/// Replaces pipes by buffers, and accesses to slots of pipes by loads and stores of these buffers. The ops
/// `acquire` and `wait` remain, to mark where a stage waits, but nothing uses their results. If `global` is
/// true, the tiles are in global memory.
Rings OpenRings(ir::Module& module, ir::Function& kernel, bool global);

/// Makes `rings` refer to the memory of a copy of the kernel. `map` maps old values to their copies.
void MapRings(Rings& rings, const ir::ValueMap& map);

/// Emits the condition that a stage cannot continue at an `acquire` or `wait`, because the pipe is full or
/// empty.
ir::Value* IsBlocked(ir::Builder& b, const Rings& rings, const ir::Op* op);

}  // namespace kdl::simt
