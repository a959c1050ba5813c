#pragma once

#include <unordered_map>

#include "ir/builder.h"

namespace kdl::simt {

/// Where a pipe's tiles lie, and how many have come and gone: all workers count alike, each for itself.
struct Ring {
  ir::Value* elements;  ///< a buffer of the team's: depth, then the tile's extents
  ir::Value* sizes;     ///< of each slot, by dimension; null: tiles without dimensions
  ir::Value* pushed;
  ir::Value* popped;
  int64_t depth;
};

struct Rings {
  std::unordered_map<const ir::Value*, Ring> of;  ///< by pipe
  ir::Value* moved = nullptr;  ///< a cell that each tile which comes or goes sets
};

/// Memory of one number.
ir::Value* NewCell(ir::Builder& b, Scalar scalar);
ir::Value* LoadCell(ir::Builder& b, ir::Value* cell);
void StoreCell(ir::Builder& b, ir::Value* value, ir::Value* cell);

/// Pipes become buffers, and what is done with their slots loads and stores of these; `acquire` and `wait` stay behind, to say
/// where a stage waits, without uses of what they give.
/// `far`: tiles lie in the launch's memory.
Rings OpenRings(ir::Module& module, ir::Function& kernel, bool global);

/// What stands for the rings' memory in a copy of the kernel.
void MapRings(Rings& rings, const ir::ValueMap& map);

/// Whether a stage cannot go on at an `acquire` or `wait`.
ir::Value* IsBlocked(ir::Builder& b, const Rings& rings, const ir::Op* op);

}  // namespace kdl::simt
