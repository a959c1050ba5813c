#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "passes/names.h"

namespace kdl::passes {

// What the passes that rewrite kernels share.

/// Whether `holds` for the op, or for one in it.
template <class AnyOp, class Holds>
bool AnyIn(AnyOp* op, Holds&& holds) {
  for (const ir::Block* region : op->regions()) {
    for (ir::Op* inner : *region) {
      if (AnyIn(static_cast<AnyOp*>(inner), holds)) return true;
    }
  }
  return holds(op);
}
/// Whether it holds for an op below `block`.
template <class Holds>
bool AnyBelow(const ir::Block* block, Holds&& holds) {
  for (ir::Op* op : *block) {
    if (AnyIn(op, holds)) return true;
  }
  return false;
}

/// The ops below `block` for which `wanted` holds, inner before outer, at the time of the call.
template <class Wanted>
std::vector<ir::Op*> OpsIn(const ir::Block* block, Wanted&& wanted) {
  std::vector<ir::Op*> ops;
  ir::Walk(block, [&](ir::Op* op) {
    if (wanted(op)) ops.push_back(op);
  });
  return ops;
}
/// The ops of a kernel of one kind.
std::vector<ir::Op*> OpsOfKind(const ir::Function& kernel, ir::OpKind kind);

/// A copy of an op without regions, in which each operand stands for what it maps to, and the
/// result's axes are those of the operands: what a scalar op becomes when it is mapped over tiles,
/// and what an op over tiles becomes for one point. The copy's results are not entered into the map.
ir::Op* CloneRetyped(const ir::Op* op, ir::Builder& builder, const ir::ValueMap& map);

/// Axes that stand for others.
class OtherAxes {
 public:
  void Set(ir::AxisId axis, ir::AxisId other) { others_[axis] = other; }
  ir::AxisId Of(ir::AxisId axis) const;
  ir::AxisList Of(ir::AxisList axes) const;
  ir::Type Of(ir::TypeTable& types, ir::Type type) const;
  /// The op, with all that is nested in it, speaks of the others from here on.
  void Retype(ir::TypeTable& types, ir::Op* op) const;

 private:
  std::unordered_map<ir::AxisId, ir::AxisId> others_;
};

std::vector<ir::Type> TypesOf(std::span<ir::Value* const> values);

/// The result of a new op that has one.
ir::Value* MakeOne(ir::Builder& b, ir::OpKind kind, const ir::Builder::Segments& operands,
                   ir::Type result, std::vector<ir::Attr> attrs = {});

/// What `operand` gives for each operand of an op.
template <class Operand>
ir::Builder::Segments SegmentsOf(const ir::Op* op, Operand&& operand) {
  ir::Builder::Segments segments(op->info().operands.size());
  for (size_t s = 0; s < segments.size(); ++s) {
    for (ir::Value* value : op->Segment(s)) segments[s].push_back(operand(value));
  }
  return segments;
}

/// The results of `copy` stand for those of the op, whose names they get.
void StandFor(const ir::Op* op, const ir::Op* copy, ir::ValueMap& map);

/// The value that stands for `value`: itself where the map has nothing.
ir::Value* Mapped(const ir::ValueMap& map, ir::Value* value);

/// The values that an op, with all that is nested in it, uses and that are made outside of it.
std::vector<ir::Value*> OutsideOperands(const ir::Op* op);

/// A copy of a table, at the beginning of the function.
ir::Op* CopyTable(const ir::Op* table, ir::Function& into, ir::Module& module);

/// Moves all ops of `from` behind those of `to`.
void MoveOps(ir::Block* from, ir::Block* to);

/// Moves the op in front of the block's terminator.
void MoveInto(ir::Block* block, ir::Op* op);

/// The number, where the value is a constant (integers extended by their signedness).
std::optional<int64_t> ConstantOf(const ir::Value* value);

/// The op of `block` that is `op` or has it inside; null: neither.
template <class AnyOp>
AnyOp* AncestorIn(const ir::Block* block, AnyOp* op) {
  while (op && op->block() != block) op = op->block()->parent();
  return op;
}

/// The innermost op of the kind that is `op` or has it inside; null: there is none.
template <class AnyOp>
AnyOp* Around(AnyOp* op, ir::OpKind kind) {
  while (op && op->kind() != kind) op = op->block()->parent();
  return op;
}

/// The block in which the value is made, or whose parameter it is.
const ir::Block* MadeIn(const ir::Value* value);

/// Whether `op` is `around` or stands in it; whether the value is made in it, its parameters among them.
bool IsInside(const ir::Op* op, const ir::Op* around);
bool IsInside(const ir::Value* value, const ir::Op* around);

/// Whether `later` stands behind `op` in its block.
bool ComesAfter(const ir::Op* later, const ir::Op* op);

/// Of a load, store, update or prefetch: what it touches, and the values that its indices count.
ir::Value* TensorOf(const ir::Op* access);
std::span<ir::Value* const> IndexOf(const ir::Op* access);

/// Whether an elementwise op, or an access, may end the core's run.
bool MayTrap(const ir::Op* op);

}  // namespace kdl::passes
