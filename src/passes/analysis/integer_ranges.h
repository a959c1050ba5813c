#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "passes/names.h"
#include "support/scalar.h"

namespace kdl::passes {

/// The integers from `lo` to `hi`, inclusive.
struct Interval {
  int64_t lo;
  int64_t hi;

  bool IsWithin(const Interval& other) const { return lo >= other.lo && hi <= other.hi; }
};

/// Returns all values of an integer type of at most 32 bits, or of bool; nothing for other types.
std::optional<Interval> ValuesOf(Scalar scalar);

/// Returns by how many bits a shift with this count shifts integers of a type: counts are taken modulo the width.
int64_t ShiftedBits(Scalar scalar, int64_t count);

/// Computes which integers the elements of scalars and tiles can be. Types of 64 bits are not analyzed. The range
/// of a sum of products takes into account that factors occur several times, as in `a * t + b * (255 - t)`.
class IntegerRanges {
 public:
  /// Returns the range of the value's elements, or nothing if it is not known.
  std::optional<Interval> RangeOf(const ir::Value* value);
  /// Returns the range of the op's exact result, before it is wrapped to its type, or nothing if it is not
  /// known. The op must have one result.
  std::optional<Interval> ExactRangeOf(const ir::Op* op);

 private:
  std::optional<Interval> RangeOfBinary(const ir::Op* op);
  std::optional<Interval> AtCorners(const ir::Op* op);
  bool IsExact(const ir::Value* value);

  std::unordered_map<const ir::Value*, std::optional<Interval>> known_;
  std::unordered_set<const ir::Value*> exact_;  ///< values whose ops do not wrap
};

}  // namespace kdl::passes
