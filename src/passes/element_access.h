#pragma once

#include <span>
#include <vector>

#include "ir/builder.h"

namespace kdl::passes {

// Accesses to elements of tensors, op by op: what targets make of loads, stores and updates whose operands are scalars.

/// The index of one dimension, of operands that are i64.
ir::Value* IndexValue(ir::Builder& b, const ir::AccessDim& dim, std::span<ir::Value* const> index);

/// Traps unless the index, which dimension `dim` of the access has, is inside; dimensions that a pass has put before those of
/// the source do not count.
void MakeCheck(ir::Builder& b, const ir::Op* access, size_t dim, ir::Value* index,
               ir::Value* bound);

/// Dimensions that a pass has put before those of the source.
size_t LeadingDims(const ir::Op* access);

/// `inside` and 0 <= index < bound.
ir::Value* AndInside(ir::Builder& b, ir::Value* inside, ir::Value* index, ir::Value* bound);

/// The access, as one that is proven.
std::vector<ir::Attr> ProvenAttrs(const ir::Op* access);

/// The element after an update: a narrow float in f32, then rounded.
ir::Value* Updated(ir::Builder& b, ir::UpdateKind how, ir::Value* element, ir::Value* value);

/// The update of an element that other cores update, too.
void MakeLaunchUpdate(ir::Builder& b, const ir::Op* access, ir::Value* value, ir::Value* tensor,
                      const std::vector<ir::Value*>& index);

/// Whether other cores update what the op updates.
bool IsOfLaunch(const ir::Op* update);

}  // namespace kdl::passes
