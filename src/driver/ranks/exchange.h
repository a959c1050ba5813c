#pragma once

#include <cstdint>
#include <vector>

#include "driver/ranks/sharding.h"

namespace kdl::driver {

/// Indices of the distributed dimension of a tensor whose elements one rank sends to another.
struct RankMessage {
  int64_t from = 0;
  int64_t to = 0;
  Indices part;
};

/// Decides which messages give the ranks the elements of one distributed tensor that they need. A rank receives no
/// element twice before the tensor is rewritten.
class Exchange {
 public:
  Exchange() = default;
  explicit Exchange(int64_t ranks) : received_(static_cast<size_t>(ranks)) {}

  /// Returns the messages after which `rank` has the indices in `needed`. The time does not depend on the number of ranks.
  std::vector<RankMessage> Fetch(const Sharding& sharding, int64_t rank, const Indices& needed);
  /// Forgets what the ranks have received, because their owners have written it.
  void Rewritten();

 private:
  std::vector<PartSet> received_;  ///< for each rank
};

}  // namespace kdl::driver
