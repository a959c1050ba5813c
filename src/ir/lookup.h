#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

// What is looked up in a function: the ops inside, around and after an op, where a value is made, what an access names.

/// Whether `holds` for the op, or for one in it.
template <class AnyOp, class Holds>
bool AnyIn(AnyOp* op, Holds&& holds) {
  for (const Region* region : op->regions()) {
    for (Op* inner : *region) {
      if (AnyIn(static_cast<AnyOp*>(inner), holds)) return true;
    }
  }
  return holds(op);
}
/// Whether it holds for an op below `block`.
template <class Holds>
bool AnyBelow(const Region* region, Holds&& holds) {
  for (Op* op : *region) {
    if (AnyIn(op, holds)) return true;
  }
  return false;
}

/// The ops below `block` for which `wanted` holds, inner before outer, at the time of the call.
template <class Wanted>
std::vector<Op*> OpsIn(const Region* region, Wanted&& wanted) {
  std::vector<Op*> ops;
  Walk(region, [&](Op* op) {
    if (wanted(op)) ops.push_back(op);
  });
  return ops;
}
/// The ops of a kernel of one kind.
std::vector<Op*> OpsOfKind(const Function& kernel, OpKind kind);

/// The values that an op, with all that is nested in it, uses and that are made outside of it.
std::vector<Value*> OutsideOperands(const Op* op);

/// The number, where the value is a constant (integers extended by their signedness).
std::optional<int64_t> ConstantOf(const Value* value);

/// The op of `block` that is `op` or has it inside; null: neither.
template <class AnyOp>
AnyOp* AncestorIn(const Region* region, AnyOp* op) {
  while (op && op->parent_region() != region) op = op->parent_region()->parent();
  return op;
}

/// The innermost op of the kind that is `op` or has it inside; null: there is none.
template <class AnyOp>
AnyOp* Around(AnyOp* op, OpKind kind) {
  while (op && op->kind() != kind) op = op->parent_region()->parent();
  return op;
}

/// The block in which the value is made, or whose parameter it is.
const Region* MadeIn(const Value* value);

/// Whether `op` is `around` or stands in it; whether the value is made in it, its parameters among them.
bool IsInside(const Op* op, const Op* around);
bool IsInside(const Value* value, const Op* around);

/// Whether `later` stands after `op` in its block.
bool ComesAfter(const Op* later, const Op* op);

/// Of a load, store, update or prefetch: what it touches, and the values that its indices count.
Value* TensorOf(const Op* access);
std::span<Value* const> IndexOf(const Op* access);

/// Whether an elementwise op, or an access, may end the core's run.
bool MayTrap(const Op* op);

}  // namespace kdl::ir
