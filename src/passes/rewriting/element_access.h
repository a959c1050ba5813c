#pragma once

#include <span>
#include <vector>

#include "passes/names.h"
#include "passes/rewriting/structured.h"

namespace kdl::passes {

// Accesses to elements of tensors: what targets make of loads, stores and updates whose operands are scalars.

/// Elements that are side by side: `lanes` of them, of which those exist that the mask says; no mask: all. One lane is
/// a scalar and has no mask.
struct Chunk {
  int64_t lanes = 1;
  ir::Value* mask = nullptr;
  ir::Value* count = nullptr;  ///< of those that exist; set where the mask is
};

/// The elements of a load, store or update with operands `index`, which stand for themselves; guards, masks and `else`
/// become checks and branches. With several lanes the elements are side by side, and the indices those of the first.
struct ElementAccess {
  const ir::Op* op;
  ir::Value* tensor;
  Values index;
  ir::Value* otherwise = nullptr;
  ir::Value* mask = nullptr;
  Chunk chunk = {};
  bool past_caches = false;  ///< of a store of a full vector, which is aligned
};

/// Of the op, whose operands are what `value` gives for them.
ElementAccess AccessOf(const ir::Op* op, const std::function<ir::Value*(ir::Value*)>& value);
ir::Value* ExpandLoad(ir::Builder& b, const ElementAccess& access);
void ExpandStore(ir::Builder& b, const ElementAccess& access, ir::Value* value);
void ExpandUpdate(ir::Builder& b, const ElementAccess& access, ir::Value* value);

/// The same access with every operand as i64, in which indices are computed.
ElementAccess Widened(ir::Builder& b, ElementAccess access);

/// The index of one dimension, of operands that are i64.
ir::Value* IndexValue(ir::Builder& b, const ir::AccessDim& dim, std::span<ir::Value* const> index);

}  // namespace kdl::passes
