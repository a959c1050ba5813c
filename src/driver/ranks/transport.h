#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/ranks/ownership.h"
#include "support/result.h"

namespace kdl::driver {

/// Sends bytes to the ranks of other processes. Both sides start their transfers in the same order, so the n-th receive
/// from a rank belongs to the n-th send of that rank.
class Transport {
 public:
  virtual ~Transport() = default;
  /// These two start a transfer and return at once. The bytes must stay in place until WaitAll returns.
  virtual Status Send(int64_t to, const std::byte* data, size_t bytes) = 0;
  virtual Status Receive(int64_t from, std::byte* data, size_t bytes) = 0;
  virtual Status WaitAll() = 0;
};

/// The ranks of a device, and those that belong to this process.
struct LocalRanks {
  RankGrid grid = RankGrid();
  int64_t first = 0;
  int64_t end = 1;
  Transport* transport = nullptr;  ///< null if all ranks belong to this process

  int64_t count() const { return grid.count(); }
  bool has(int64_t rank) const { return first <= rank && rank < end; }
};

}  // namespace kdl::driver
