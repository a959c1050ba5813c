#pragma once

#include <cstdint>

#include "driver/ranks/boxes.h"
#include "kdl/ranks.h"

namespace kdl::driver {

/// The ranks of a device, and those that belong to this process.
struct LocalRanks {
  RankGrid grid = RankGrid();
  int64_t first = 0;
  int64_t end = 1;
  const kdl_transport* transport = nullptr;  ///< null if all ranks belong to this process

  int64_t count() const { return grid.count(); }
};

}  // namespace kdl::driver
