#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "driver/ranks/ownership.h"

namespace kdl::driver {

/// Decides which messages give the ranks the elements of one distributed tensor that they need. A rank receives no
/// element twice before the tensor is rewritten.
class Exchange {
 public:
  Exchange() = default;
  explicit Exchange(Ownership ownership)
      : ownership_(std::move(ownership)),
        received_(static_cast<size_t>(ownership_.grid().count())) {}

  const Ownership& ownership() const { return ownership_; }
  /// Calls `send(owner, box)` for each box that an owner must send so that `rank` has the elements in `needed`. The time does
  /// not depend on the number of ranks.
  template <class Send>
  void Fetch(int64_t rank, const Box& needed, Send send) {
    BoxSet& received = received_[static_cast<size_t>(rank)];
    for (const Box& missing : received.MissingFrom(needed)) {
      ownership_.ForEachOwner(missing, rank, [&](int64_t owner, const Box& part) {
        if (owner != rank) send(owner, part);
      });
    }
    received.Add(needed);
  }
  /// Forgets what the ranks have received, because their owners have written it.
  void Rewritten() {
    for (BoxSet& received : received_) received.Clear();
  }

 private:
  Ownership ownership_;
  std::vector<BoxSet> received_;  ///< for each rank
};

}  // namespace kdl::driver
