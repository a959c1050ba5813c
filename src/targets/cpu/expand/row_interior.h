#pragma once

#include <vector>

#include "targets/cpu/analysis/interior.h"
#include "targets/cpu/expand/elementwise_body.h"

namespace kdl::cpu {

/// Finds the part of a row that is in the interior of an elementwise loop. The body must be at the start of the row.
class RowInterior {
 public:
  RowInterior(ElementwiseLoopBody& body, const Interior& interior)
      : e_(body.e()), body_(body), interior_(interior) {}

  struct Part {
    Value* lo;
    Value* hi;
    Value* exists;  ///< a bool; if it is false, the row has no interior, whatever `lo` and `hi` are
  };
  /// Returns the part of the row in which all conditions of points hold. It exists if `exists` is true and the
  /// conditions of rows hold.
  Part PartOf(const Window& row, Value* exists, const std::vector<PointCondition>& of_rows);
  Part PartOf(const Window& row, Value* exists) {
    return PartOf(row, exists, interior_.row_conditions);
  }
  /// Returns whether `all` and conditions that are the same for the whole row are true.
  Value* AllHold(Value* all, const std::vector<PointCondition>& conditions);
  /// Whether the value is the index of an axis that covers a dimension, and therefore not negative and below a size.
  bool IsIndexOfDimension(const Value* value) const;

 private:
  /// A sum in a row: `factor` times the position plus `rest`.
  struct RowSum {
    int64_t factor;
    Value* rest;
    Value* is_exact;  ///< whether the terms are so close to 0 that the sum does not wrap around
  };

  RowSum InRow(const PointCondition& condition);
  Value* AllExact(Value* all, const std::vector<PointCondition>& sums);
  Value* IsSmall(Value* value, int64_t factor);
  void Narrow(const PointCondition& condition, Part& part);
  Value* Times(Value* value, int64_t factor);
  Value* FloorDiv(Value* value, int64_t divisor);

  Expander& e_;
  ElementwiseLoopBody& body_;
  const Interior& interior_;
};

}  // namespace kdl::cpu
