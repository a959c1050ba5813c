#include "driver/ranks/exchange.h"

namespace kdl::driver {

std::vector<RankMessage> Exchange::Fetch(const Sharding& sharding, int64_t rank,
                                         const Indices& needed) {
  std::vector<RankMessage> messages;
  PartSet& received = received_[static_cast<size_t>(rank)];
  for (const Indices& missing : received.MissingFrom(needed)) {
    Indices owners = sharding.Owners(missing);
    for (int64_t owner = owners.first; owner < owners.end; ++owner) {
      if (owner != rank)
        messages.push_back({owner, rank, Intersection(missing, sharding.Owned(owner))});
    }
  }
  received.Add(needed);
  return messages;
}

void Exchange::Rewritten() {
  for (PartSet& received : received_) received.Clear();
}

}  // namespace kdl::driver
