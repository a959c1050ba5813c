#pragma once

#include <cstdint>

#include "driver/ranks/box.h"

namespace kdl::driver {

/// Distributes the indices 0 .. size - 1 over parts of a grid of ranks. Each part has adjacent indices, and all parts but the
/// last ones have ceil(size / parts) of them. If there are more parts than indices, the last parts have none.
class Sharding {
 public:
  /// The size must be at least 0, and there must be at least one part.
  Sharding(int64_t size, int64_t parts);

  /// Returns the indices in a part.
  Indices Owned(int64_t part) const;
  /// Returns the parts that contain any of the indices, which must be in 0 .. size - 1. The parts are found by division, so
  /// that the time does not depend on their number.
  Indices Owners(const Indices& of) const;

 private:
  int64_t size_;
  int64_t length_;  ///< the number of indices in a part; at least 1
};

}  // namespace kdl::driver
