#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ir/lookup.h"
#include "passes/names.h"

namespace kdl::passes {

// What the passes that rewrite kernels share.

using ir::AncestorIn;
using ir::AnyBelow;
using ir::AnyIn;
using ir::Around;
using ir::ComesAfter;
using ir::ConstantOf;
using ir::IndexOf;
using ir::IsInside;
using ir::MadeIn;
using ir::MayTrap;
using ir::OpsIn;
using ir::OpsOfKind;
using ir::OutsideOperands;
using ir::TensorOf;

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
  ir::Builder::Segments segments(op->segments());
  for (size_t s = 0; s < segments.size(); ++s) {
    for (ir::Value* value : op->Segment(s)) segments[s].push_back(operand(value));
  }
  return segments;
}

/// The results of `copy` stand for those of the op, whose names they get.
void StandFor(const ir::Op* op, const ir::Op* copy, ir::ValueMap& map);

/// The value that stands for `value`: itself where the map has nothing.
ir::Value* Mapped(const ir::ValueMap& map, ir::Value* value);

/// A copy of a table, at the beginning of the function.
ir::Op* CopyTable(const ir::Op* table, ir::Function& into, ir::Module& module);

/// Moves all ops of `from` after those of `to`.
void MoveOps(ir::Region* from, ir::Region* to);

/// Moves the op before the block's terminator.
void MoveInto(ir::Region* region, ir::Op* op);

}  // namespace kdl::passes
