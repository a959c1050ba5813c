#pragma once

#include <span>
#include <vector>

#include "passes/names.h"
#include "passes/rewriting/structured.h"

namespace kdl::passes {

// Accesses to single elements or vectors of a tensor, to which targets lower loads, stores and updates.

/// A number of contiguous elements (`lanes`). If `mask` is set, only the elements that it selects are
/// accessed. A single lane is a scalar and has no mask.
struct Chunk {
  int64_t lanes = 1;
  ir::Value* mask = nullptr;
  ir::Value* count = nullptr;  ///< the number of accessed elements; set if `mask` is set
};

/// A load, store or update of elements, with scalar index operands `index`. Guards, masks and `else` become
/// checks and branches. With several lanes, the elements are contiguous, and `index` belongs to the first
/// lane.
struct ElementAccess {
  const ir::Op* op;
  ir::Value* tensor;
  Values index;
  ir::Value* otherwise = nullptr;
  ir::Value* mask = nullptr;
  Chunk chunk = {};
  /// Whether all indices have been checked before.
  bool is_checked = false;
  /// Whether to bypass caches; only for an aligned store of a full vector.
  bool past_caches = false;
  /// For each dimension, whether its index without the constant offset is in bounds for all elements. Empty if that
  /// is not known of any dimension.
  std::vector<bool> in_domain = {};
};

/// Returns the access of an op, with each operand replaced by what `value` returns for it.
ElementAccess ElementAccessOf(const ir::Op* op, const std::function<ir::Value*(ir::Value*)>& value);
/// Emits the checks of an access's indices, and returns the access without them.
ElementAccess Checked(ir::Builder& b, const ElementAccess& access);
ir::Value* ExpandLoad(ir::Builder& b, const ElementAccess& access);
void ExpandStore(ir::Builder& b, const ElementAccess& access, ir::Value* value);
void ExpandUpdate(ir::Builder& b, const ElementAccess& access, ir::Value* value);

/// Returns whether the index of the dimension, without its constant offset, is that of an axis of the elementwise loop
/// which covers the dimension. Such an index is in bounds.
bool WalksDimension(const ir::Function& function, const ir::Op* elementwise, const ir::Op* access,
                    size_t dim);

/// Returns the access with every index operand cast to i64, the type in which indices are computed.
ElementAccess Widened(ir::Builder& b, ElementAccess access);

/// Computes the index of one dimension from operands that are i64.
ir::Value* IndexValue(ir::Builder& b, const ir::AccessDim& dim, std::span<ir::Value* const> index);

}  // namespace kdl::passes
