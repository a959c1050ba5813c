#pragma once

#include <functional>

#include "ir/builder.h"
#include "passes/groups/group_parts.h"

namespace kdl::passes {

/// Combines the partial results of an element in `count` slots of memory by a balanced binary tree: neighbours first,
/// then values of two slots, and so on. Afterwards, the first slot has the value of all, and the others are
/// unspecified. `place` returns the place of the element in a slot, for the axes `axes`.
void CombineSlots(ir::Builder& builder, ir::Value* memory, ir::UpdateKind how, ir::Value* count,
                  const ir::AxisList& axes, const std::function<Place(ir::Value*)>& place);

}  // namespace kdl::passes
