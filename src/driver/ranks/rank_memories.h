#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "driver/ranks/exchange.h"
#include "interp/program_host.h"
#include "kdl/runtime.h"

namespace kdl::driver {

/// The bytes and messages that were sent for one tensor and cause.
struct RankTraffic {
  int64_t bytes = 0;
  int64_t messages = 0;
};

/// What the ranks of this process have sent, by tensor and cause.
using RankTrafficTable = std::map<std::pair<std::string, std::string>, RankTraffic>;

/// The memories of a distributed tensor, and what is sent between them.
struct RankTensor {
  std::vector<interp::TensorId> memories;  ///< those of the ranks of this process
  Exchange exchange;                       ///< also between ranks of other processes
};

/// Elements of one tensor that a rank sends to another one, if this process has one of these ranks.
struct PendingMessage {
  interp::TensorId tensor;
  int64_t from = 0;
  int64_t to = 0;
  Name device;
  Name cause;
  std::vector<Box> boxes;
  std::vector<std::byte> bytes =
      {};  ///< the elements, box after box, if the other rank belongs to another process
};

/// The state of all distributed tensors of a program.
struct RankMemories {
  std::map<uint32_t, RankTensor> tensors;  ///< by the id of the tensor
  std::vector<PendingMessage> pending;     ///< requested since the last FinishFetches
  RankTrafficTable traffic;
};

}  // namespace kdl::driver
