#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace kdl::driver {

/// The bytes and messages that were sent for one tensor and cause.
struct RankTraffic {
  int64_t bytes = 0;
  int64_t messages = 0;

  RankTraffic& operator+=(const RankTraffic& other) {
    bytes += other.bytes;
    messages += other.messages;
    return *this;
  }
};

/// What the ranks of this process have sent, by tensor and cause.
using RankTrafficTable = std::map<std::pair<std::string, std::string>, RankTraffic>;

}  // namespace kdl::driver
