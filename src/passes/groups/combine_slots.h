#pragma once

#include <functional>

#include "ir/builder.h"
#include "passes/groups/group_parts.h"

namespace kdl::passes {

/// Two neighbouring subtrees of the tree that combines slots. Each has `width` slots, except that the right one may have fewer.
struct SlotPair {
  ir::Value* left;  ///< the first slot of a subtree, which has its value
  ir::Value* right;
  ir::Value* width;
};

/// Combines the partial results of an element in `count` slots of memory by a balanced binary tree: neighbours first,
/// then values of two slots, and so on. Afterwards, the first slot has the value of all, and the others are
/// unspecified. `place` returns the place of the element in a slot, for the axes `axes`. If `condition` is given, only those pairs
/// are combined for which it holds.
void CombineSlots(ir::Builder& builder, ir::Value* memory, ir::UpdateKind how, ir::Value* count,
                  const ir::AxisList& axes, const std::function<Place(ir::Value*)>& place,
                  const std::function<ir::Value*(const SlotPair&)>& condition = {});

}  // namespace kdl::passes
