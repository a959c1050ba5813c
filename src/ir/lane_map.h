#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/attr.h"
#include "ir/module.h"

namespace kdl::ir {

/// How the workers of a team share the points of an axis: point (p * workers + q) * side + t, counted from the block's start,
/// with t < side, q < workers and p < repeats, is that of the workers whose number / apart mod workers is q.
struct AxisDigits {
  int64_t repeats = 1;
  int64_t threads = 1;
  int64_t apart = 1;
  int64_t side = 1;  ///< points side by side of one worker
  /// So many workers' points are together, those of all their repeats, before those of the next ones come; 0: all workers'.
  int64_t span = 0;

  /// The points that each worker has.
  int64_t held() const { return repeats * side; }
  int64_t covered() const { return held() * threads; }
  /// Of a worker's points the `number`th, counted from its first one.
  int64_t Offset(int64_t number) const { return number / side * together() * side + number % side; }
  int64_t together() const { return span == 0 ? threads : span; }
  /// The first point of the worker whose digit this is.
  int64_t First(int64_t digit) const {
    return (digit / together() * repeats * together() + digit % together()) * side;
  }
  bool operator==(const AxisDigits&) const = default;
};

/// By the axes of an op.
using LaneMap = std::vector<AxisDigits>;

/// The axes that a map of the op is for, in its order: those of a elementwise loop's blocks, of a contraction's result, of what is reduced.
AxisList MappedAxes(const Op& op);
/// The op's map; without one: empty.
LaneMap MapOf(const Op& op);
Attr MapAttr(const LaneMap& map);
/// How many workers have points.
int64_t ThreadsOf(const LaneMap& map);
/// What is wrong with the op's map; empty: nothing.
std::string MapFault(const Op& op);

}  // namespace kdl::ir
