#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ir/lookup.h"
#include "passes/names.h"

namespace kdl::passes {

// Functions shared by the passes that rewrite kernels.

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

/// Clones an op without regions. Replaces the operands as `map` says, and gives the result the axes of the
/// new operands. This extends a scalar op to tiles, or turns an op on tiles into an op for a single point.
/// The results are not added to the map.
ir::Op* CloneRetyped(const ir::Op* op, ir::Builder& builder, const ir::ValueMap& map);

/// Reorders the indices of an `element` op after axes of its tile were replaced. The indices have the order of the tile's
/// axes, and a tile's type sorts its axes, so new axes may have another order. `axes` has the new axis of each index.
void SortPoint(ir::Op* element, const ir::AxisList& axes);

/// Maps axes to the axes that replace them.
class OtherAxes {
 public:
  void Set(ir::AxisId axis, ir::AxisId other) { others_[axis] = other; }
  ir::AxisId Replaced(ir::AxisId axis) const;
  ir::AxisList Replaced(ir::AxisList axes) const;
  ir::Type Replaced(ir::TypeTable& types, ir::Type type) const;
  /// Replaces the axes in an op and in all ops nested in it.
  void Retype(ir::TypeTable& types, ir::Op* op) const;

 private:
  void SortReplaced(ir::Op* element) const;

  std::unordered_map<ir::AxisId, ir::AxisId> others_;
};

std::vector<ir::Type> TypesOf(std::span<ir::Value* const> values);

/// Creates an op that has one result, and returns the result.
ir::Value* MakeOne(ir::Builder& b, ir::OpKind kind, const ir::Builder::Segments& operands,
                   ir::Type result, std::vector<ir::Attr> attrs = {});

/// Returns the segments of an op's operands, with each value replaced by what `operand` returns for it.
template <class Operand>
ir::Builder::Segments SegmentsOf(const ir::Op* op, Operand&& operand) {
  ir::Builder::Segments segments(op->segments());
  for (size_t s = 0; s < segments.size(); ++s) {
    for (ir::Value* value : op->Segment(s)) segments[s].push_back(operand(value));
  }
  return segments;
}

/// Maps the results of `op` to those of `copy`, and copies their names.
void StandFor(const ir::Op* op, const ir::Op* copy, ir::ValueMap& map);

/// Returns the value that `value` is mapped to, or `value` itself if the map does not contain it.
ir::Value* Mapped(const ir::ValueMap& map, ir::Value* value);

/// Copies a table to the start of the function.
ir::Op* CopyTable(const ir::Op* table, ir::Function& into, ir::Module& module);

/// Moves all ops of `from` to the end of `to`.
void MoveOps(ir::Region* from, ir::Region* to);

/// Moves the op before the region's terminator.
void MoveInto(ir::Region* region, ir::Op* op);

}  // namespace kdl::passes
