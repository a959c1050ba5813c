#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/module.h"
#include "proofs/names.h"

namespace kdl::proofs {

/// An op that touches elements of a tensor.
struct AccessView {
  ir::Op* op;
  ir::Value* tensor;
  std::span<ir::Value* const> index;
  ir::Effect effect;
  ir::Value* mask;  ///< may be null: everywhere

  ir::Access access() const { return op->attr<ir::AttrKey::Access>(); }
  size_t rank() const { return tensor->type()->dims.size(); }
  /// Over which it names its elements.
  ir::AxisList axes() const;
  /// Of a `reduce` statement: into a partial value, which an `out` element becomes.
  bool is_partial() const {
    return op->HasAttr(ir::AttrKey::Scope) &&
           op->attr<ir::AttrKey::Scope>() == ir::ScopeKind::Group;
  }
  /// Whether the element is what is stored, whatever it was: of a store, and of `atomic … =`.
  bool is_write() const;
  /// irgen's fill of what groups of blocks fold onto.
  bool is_fill() const;
  bool has_else() const { return op->attr<ir::AttrKey::BoundsMode>() == ir::BoundsMode::Else; }
};
/// Nothing where the op touches no tensor element by an access.
std::optional<AccessView> AccessOf(ir::Op* op);
/// Those in a block.
std::vector<AccessView> AccessesIn(const ir::Region* region);
/// Those of a memory, under any name.
std::vector<AccessView> AccessesOf(const ir::Value* memory);

/// Bounds of a parameter that a loop binds; nothing for carried values.
struct LoopEnds {
  const ir::Value* lo;
  const ir::Value* hi;
};
std::optional<LoopEnds> LoopEndsOf(const ir::Value* param);

/// Whether an op is a loop, or a walk, whose turns are told apart.
bool IsLoop(const ir::Op* op);
/// The op, or the innermost one around it, that is a loop; null: none.
const ir::Op* LoopOf(const ir::Op* op);

}  // namespace kdl::proofs
