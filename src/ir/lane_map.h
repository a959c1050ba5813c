#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/attr.h"
#include "ir/module.h"

namespace kdl::ir {

/// Says how the GPU threads of a workgroup divide the points of an axis among themselves. Thread n has the
/// points (p * threads + q) * side + t, counted from the start of the block. Here, q is n / apart mod
/// threads, t ranges from 0 to side - 1, and p ranges from 0 to repeats - 1.
struct AxisDigits {
  int64_t repeats = 1;
  int64_t threads = 1;
  int64_t apart = 1;
  int64_t side = 1;  ///< the number of consecutive points of one thread in each repeat
  /// If not 0, all points of the first `span` threads, with all repeats, come before the points of the next
  /// `span` threads. The points of a thread are then ((q / span * repeats + p) * span + q mod span) * side +
  /// t. If 0, each repeat covers all threads.
  int64_t span = 0;

  /// The number of points of each thread.
  int64_t held() const { return repeats * side; }
  int64_t covered() const { return held() * threads; }
  /// Returns the offset of a thread's point `number` from the first point of the thread.
  int64_t Offset(int64_t number) const { return number / side * together() * side + number % side; }
  int64_t together() const { return span == 0 ? threads : span; }
  /// Returns the first point of the threads whose q (see above) is `digit`.
  int64_t First(int64_t digit) const {
    return (digit / together() * repeats * together() + digit % together()) * side;
  }
  bool operator==(const AxisDigits&) const = default;
};

/// Says for each axis of an op how threads divide it.
using LaneMap = std::vector<AxisDigits>;

/// Returns the axes that the op's attribute `map` describes, in its order. They are the axes of the blocks of
/// an elementwise loop, of the result of a contraction, or of the reduced value of a reduction.
AxisList MappedAxes(const Op& op);
/// Returns the op's attribute `map`; empty if the op does not have it.
LaneMap MapOf(const Op& op);
Attr MapAttr(const LaneMap& map);
/// Returns the number of GPU threads that have points.
int64_t ThreadsOf(const LaneMap& map);
/// Returns what is wrong with the op's map; empty if it is valid.
std::string MapFault(const Op& op);

}  // namespace kdl::ir
