#pragma once

#include <unordered_map>

#include "ir/builder.h"

namespace kdl::simt {

/// A pipe's tiles, and how many have been pushed and popped so far. All threads count alike, each in cells of
/// its own.
struct Ring {
  ir::Value* elements;  ///< a workgroup buffer: the depth, then the tile's extents
  ir::Value* sizes;     ///< sizes of each slot by dimension; null: tiles without dimensions
  ir::Value* pushed;
  ir::Value* popped;
  int64_t depth;
};

struct Rings {
  std::unordered_map<const ir::Value*, Ring> of;  ///< ring of each pipe
  ir::Value* moved = nullptr;  ///< a cell that is set whenever a tile is pushed or popped
};

/// Cells: private memory for one number.
ir::Value* NewCell(ir::Builder& b, Scalar scalar);
ir::Value* LoadCell(ir::Builder& b, ir::Value* cell);
void StoreCell(ir::Builder& b, ir::Value* value, ir::Value* cell);

/// Replaces pipes by buffers, and accesses to their slots by loads and stores of these. `acquire` and `wait`
/// remain, to mark where a stage waits, but nothing uses their results. `global`: the tiles are in
/// global memory.
Rings OpenRings(ir::Module& module, ir::Function& kernel, bool global);

/// Replaces the rings' memory by its counterpart in a copy of the kernel.
void MapRings(Rings& rings, const ir::ValueMap& map);

/// Returns whether a stage cannot continue at an `acquire` or `wait`.
ir::Value* IsBlocked(ir::Builder& b, const Rings& rings, const ir::Op* op);

}  // namespace kdl::simt
