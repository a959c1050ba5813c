#pragma once

#include <unordered_map>

#include "ir/builder.h"

namespace kdl::simt {

/// The tiles of a pipe, and the number of tiles that have been pushed and popped so far. All threads count
/// alike, each thread in cells of its own.
struct Ring {
  /// A workgroup buffer whose dimensions are the depth and then the tile's extents.
  ir::Value* elements;
  ir::Value* sizes;  ///< the sizes of each slot by dimension; null if tiles have no dimensions
  ir::Value* pushed;
  ir::Value* popped;
  int64_t depth;
};

struct Rings {
  std::unordered_map<const ir::Value*, Ring> of;  ///< the ring of each pipe
  ir::Value* moved = nullptr;  ///< a cell that is set whenever a tile is pushed or popped
};

/// Cells, each of which is private memory for one number.
ir::Value* NewCell(ir::Builder& b, Scalar scalar);
ir::Value* LoadCell(ir::Builder& b, ir::Value* cell);
void StoreCell(ir::Builder& b, ir::Value* value, ir::Value* cell);

/// Replaces pipes by buffers, and accesses to slots of pipes by loads and stores of the buffers. The ops
/// `acquire` and `wait` remain, to mark where a stage waits, but nothing uses their results. If `global` is
/// true, the tiles are in global memory.
Rings OpenRings(ir::Module& module, ir::Function& kernel, bool global);

/// Replaces the memory of the rings by the corresponding memory in a copy of the kernel.
void MapRings(Rings& rings, const ir::ValueMap& map);

/// Emits the condition that a stage cannot continue at an `acquire` or `wait`.
ir::Value* IsBlocked(ir::Builder& b, const Rings& rings, const ir::Op* op);

}  // namespace kdl::simt
