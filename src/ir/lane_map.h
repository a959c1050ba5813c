#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/attr.h"
#include "ir/module.h"

namespace kdl::ir {

/// Says how the GPU threads of a workgroup share the points of an axis. Thread n has the points (p *
/// threads + q) * side + t, counted from the start of the block. Here q is n / apart mod threads, t is from
/// 0 to side - 1, and p is from 0 to repeats - 1.
struct AxisDigits {
  int64_t repeats = 1;
  int64_t threads = 1;
  int64_t apart = 1;
  int64_t side = 1;  ///< consecutive points of one thread, at each repeat
  /// If not 0, all points of the first `span` threads, with all repeats, come before the points of the next
  /// `span` threads. The points of a thread are then ((q / span * repeats + p) * span + q mod span) * side
  /// + t. If 0, all threads alternate.
  int64_t span = 0;

  /// How many points each thread has.
  int64_t held() const { return repeats * side; }
  int64_t covered() const { return held() * threads; }
  /// Returns the offset of a thread's point `number` from its first point.
  int64_t Offset(int64_t number) const { return number / side * together() * side + number % side; }
  int64_t together() const { return span == 0 ? threads : span; }
  /// Returns the first point of the threads whose digit for this axis is `digit`.
  int64_t First(int64_t digit) const {
    return (digit / together() * repeats * together() + digit % together()) * side;
  }
  bool operator==(const AxisDigits&) const = default;
};

/// The layouts of an op's axes, in order.
using LaneMap = std::vector<AxisDigits>;

/// Returns the axes to which a map of the op refers, in the order of the map. For an elementwise loop, they
/// are the axes of its blocks; for a contraction, of its result; for a reduction, of the reduced value.
AxisList MappedAxes(const Op& op);
/// Returns the op's map, which is empty if the op has none.
LaneMap MapOf(const Op& op);
Attr MapAttr(const LaneMap& map);
/// Returns the number of GPU threads that have points.
int64_t ThreadsOf(const LaneMap& map);
/// Returns what is wrong with the op's map; empty if it is valid.
std::string MapFault(const Op& op);

}  // namespace kdl::ir
