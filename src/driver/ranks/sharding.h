#pragma once

#include <cstdint>

#include "driver/ranks/box.h"

namespace kdl::driver {

/// How many indices each part has. Equal: all parts but the last ones have ceil(size / parts). Balanced: each part has
/// floor(size / parts) or one more.
enum class Shares : uint8_t { Equal, Balanced };

/// Distributes the indices 0 .. size - 1 over parts of a grid of ranks. Each part has adjacent indices. If there are more parts
/// than indices, some parts have none: the last ones, if the shares are equal.
class Sharding {
 public:
  /// The size must be at least 0, and there must be at least one part.
  Sharding(int64_t size, int64_t parts, Shares shares = Shares::Equal);

  /// Returns the indices in a part.
  Indices Owned(int64_t part) const;
  /// Returns the first and the last of the parts that contain any of the indices, which must be in 0 .. size - 1. If the shares
  /// are balanced, parts between them may have no indices. The parts are found by division, so that the time does not depend
  /// on their number.
  Indices Owners(const Indices& of) const;

 private:
  int64_t BeginOfBalanced(int64_t part) const;
  int64_t PartOf(int64_t index) const;

  int64_t size_;
  int64_t parts_;
  Shares shares_;
  int64_t length_;  ///< the number of indices in a part; at least 1
};

}  // namespace kdl::driver
