#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

// Queries about the code of a function: which ops are inside, around and after an op, where a value is
// defined, and what an access refers to.

/// Returns whether `holds` returns true for the op or for an op nested in it.
template <class AnyOp, class Holds>
bool AnyIn(AnyOp* op, Holds&& holds) {
  for (const Region* region : op->regions()) {
    for (Op* inner : *region) {
      if (AnyIn(static_cast<AnyOp*>(inner), holds)) return true;
    }
  }
  return holds(op);
}
/// Returns whether `holds` returns true for an op in `region`, at any depth.
template <class Holds>
bool AnyBelow(const Region* region, Holds&& holds) {
  for (Op* op : *region) {
    if (AnyIn(op, holds)) return true;
  }
  return false;
}

/// Returns the ops in `region`, including nested ops, for which `wanted` returns true when it is called.
/// Inner ops come before the ops that contain them.
template <class Wanted>
std::vector<Op*> OpsIn(const Region* region, Wanted&& wanted) {
  std::vector<Op*> ops;
  Walk(region, [&](Op* op) {
    if (wanted(op)) ops.push_back(op);
  });
  return ops;
}
/// Returns the ops of one kind in a kernel.
std::vector<Op*> OpsOfKind(const Function& kernel, OpKind kind);

/// Returns the values that an op or the ops nested in it use and that are defined outside of it.
std::vector<Value*> OutsideOperands(const Op* op);

/// Returns the value of a constant, or nothing for other values. Integers are extended according to
/// their signedness.
std::optional<int64_t> ConstantOf(const Value* value);

/// Returns the op of `region` that is `op` or contains it; null if there is none.
template <class AnyOp>
AnyOp* AncestorIn(const Region* region, AnyOp* op) {
  while (op && op->parent_region() != region) op = op->parent_region()->parent();
  return op;
}

/// Returns the innermost op of the given kind that is `op` or contains it; null if there is none.
template <class AnyOp>
AnyOp* Around(AnyOp* op, OpKind kind) {
  while (op && op->kind() != kind) op = op->parent_region()->parent();
  return op;
}

/// Returns the region in which the value is defined as a parameter or as the result of an op.
const Region* MadeIn(const Value* value);

/// Return whether the op or value is inside `around`. An op is inside if it is `around` itself or nested in
/// it. A value is inside if it is defined in `around`, for example as a parameter of a region.
bool IsInside(const Op* op, const Op* around);
bool IsInside(const Value* value, const Op* around);

/// Returns whether `later` comes after `op` in the same region.
bool ComesAfter(const Op* later, const Op* op);

/// TensorOf returns the tensor that a load, store, update or prefetch accesses. IndexOf returns the values to
/// which the terms of its index refer.
Value* TensorOf(const Op* access);
std::span<Value* const> IndexOf(const Op* access);

/// The tensor and the buffer between which an `async_copy` copies.
struct CopyEnds {
  Value* tensor = nullptr;
  Value* buffer = nullptr;
  bool in = true;  ///< whether it copies from the tensor to the buffer
};
CopyEnds CopyEndsOf(const Op* copy);

/// Returns whether an elementwise op or an access may trap.
bool MayTrap(const Op* op);

}  // namespace kdl::ir
