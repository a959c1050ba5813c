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
  ir::Value* mask;  ///< null if there is no mask

  ir::Access access() const { return op->attr<ir::AttrKey::Access>(); }
  size_t rank() const { return tensor->type()->dims.size(); }
  /// If the index of a dimension is a single value, without additions or multiplications, returns the value;
  /// otherwise null.
  const ir::Value* plain_index(size_t dim) const;
  /// Returns the axes over which the op accesses elements.
  ir::AxisList axes() const;
  /// Whether the access belongs to a `reduce` statement. Such an access updates a partial value, which is
  /// combined with the element later.
  bool is_partial() const {
    return op->HasAttr(ir::AttrKey::Scope) &&
           op->attr<ir::AttrKey::Scope>() == ir::ScopeKind::Group;
  }
  /// Whether the stored value replaces the element regardless of what it was before: true for a store and for
  /// `atomic … =`.
  bool is_write() const;
  /// Whether this is the store that irgen generates to initialize the elements into which groups of blocks
  /// reduce.
  bool is_fill() const;
  /// Whether the access belongs to an `append`, whose stores never write an element twice.
  bool is_append() const { return op->HasAttr(ir::AttrKey::Append); }
  bool has_else() const { return op->attr<ir::AttrKey::BoundsMode>() == ir::BoundsMode::Else; }
};
/// Returns the op's access to elements of a tensor, or nothing if the op has none.
std::optional<AccessView> FindAccess(ir::Op* op);
/// Returns the accesses in a region.
std::vector<AccessView> AccessesIn(const ir::Region* region);
/// Returns all accesses to a memory, including those through views.
std::vector<AccessView> AccessesOf(const ir::Value* memory);

/// Returns whether all accesses are to one tensor or view, and index the same dimension by the loop variable
/// alone. If so, different iterations of the loop access different elements.
bool AreAtBinder(std::span<const AccessView> views, const ir::Value* binder);

/// The bounds of a loop variable. Loop-carried values have no bounds.
struct LoopEnds {
  const ir::Value* lo;
  const ir::Value* hi;
};
std::optional<LoopEnds> LoopEndsOf(const ir::Value* param);

/// If the op adds the start and the size of a block of a loop, returns this block, otherwise null.
const ir::Value* BlockEndingAt(const ir::Op* sum);
/// Returns the range of which a loop's block or number is a part, as in `for q in r by 16`, and of which that is a part, and so
/// on: the outermost one.
const ir::Value* OutermostRange(const ir::Value* part);

/// Returns whether the op is a loop or an spmd. The proofs distinguish the iterations of such ops.
bool IsLoop(const ir::Op* op);
/// Returns the innermost loop or spmd that is the op itself or encloses it; null if there is none.
const ir::Op* LoopOf(const ir::Op* op);

}  // namespace kdl::proofs
