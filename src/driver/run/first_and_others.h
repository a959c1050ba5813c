#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kdl/ranks.h"
#include "support/result.h"

namespace kdl::driver {

/// Messages between the first process and all others. All processes must make the same calls.
class FirstAndOthers {
 public:
  /// Without a transport, there is one process. It must outlive the object.
  explicit FirstAndOthers(const kdl_transport* transport) : transport_(transport) {}

  bool IsFirst() const { return !transport_ || transport_->rank == 0; }
  /// Gives all processes the bytes of the first one.
  Status Broadcast(std::span<char> bytes);
  /// Returns to the first process whether `mine` is true in all of them.
  Result<bool> AllOf(bool mine);
  /// Returns the sum of the numbers of all processes to the first one, modulo 2^64.
  Result<uint64_t> Sum(uint64_t mine);
  /// Returns to all processes whether `mine` is true in all of them.
  Result<bool> Agree(bool mine);

 private:
  /// Sends the bytes of each process to the first one, where they are stored one after another.
  Result<std::vector<char>> Gather(std::span<const char> mine);
  Status Wait();

  const kdl_transport* transport_;
};

}  // namespace kdl::driver
