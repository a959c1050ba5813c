#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/module.h"
#include "proofs/names.h"

namespace kdl::proofs {

/// An op that accesses elements of a tensor.
struct AccessView {
  ir::Op* op;
  ir::Value* tensor;
  std::span<ir::Value* const> index;
  ir::Effect effect;
  ir::Value* mask;  ///< null: no mask

  ir::Access access() const { return op->attr<ir::AttrKey::Access>(); }
  size_t rank() const { return tensor->type()->dims.size(); }
  /// Returns the axes over which it accesses elements.
  ir::AxisList axes() const;
  /// Whether it belongs to a `reduce` statement: it updates a partial value, which is combined with the
  /// element later.
  bool is_partial() const {
    return op->HasAttr(ir::AttrKey::Scope) &&
           op->attr<ir::AttrKey::Scope>() == ir::ScopeKind::Group;
  }
  /// Whether the element becomes the stored value, whatever it was before: for a store, and for `atomic … =`.
  bool is_write() const;
  /// Whether it is irgen's fill of elements into which groups of blocks reduce.
  bool is_fill() const;
  bool has_else() const { return op->attr<ir::AttrKey::BoundsMode>() == ir::BoundsMode::Else; }
};
/// Returns nothing if the op does not access tensor elements.
std::optional<AccessView> FindAccess(ir::Op* op);
/// Returns the accesses in a region.
std::vector<AccessView> AccessesIn(const ir::Region* region);
/// Returns all accesses to a memory, also through views.
std::vector<AccessView> AccessesOf(const ir::Value* memory);

/// The bounds of a loop variable; nothing for carried values.
struct LoopEnds {
  const ir::Value* lo;
  const ir::Value* hi;
};
std::optional<LoopEnds> LoopEndsOf(const ir::Value* param);

/// Returns whether an op has iterations that the proofs distinguish: it is a loop or an spmd.
bool IsLoop(const ir::Op* op);
/// Returns the op itself or the innermost op around it that is a loop in this sense; null if there is none.
const ir::Op* LoopOf(const ir::Op* op);

}  // namespace kdl::proofs
