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

/// A message between processes.
struct PendingMessage {
  kdl_array part;                ///< the elements; does not own its buffer
  std::vector<std::byte> bytes;  ///< its elements, row after row
  bool is_received = false;
};

/// The state of all distributed tensors of a program.
struct RankMemories {
  std::map<uint32_t, RankTensor> tensors;  ///< by the id of the tensor
  std::vector<PendingMessage> pending;
  RankTrafficTable traffic;
};

}  // namespace kdl::driver
