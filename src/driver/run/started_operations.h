#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "interp/program_host.h"
#include "kdl/runtime.h"
#include "support/result.h"

namespace kdl::driver {

/// The operations that a program has started, in the order of the program. Keeps only the events of those that may not have
/// completed, so that a loop does not need more memory with each iteration.
class StartedOperations {
 public:
  StartedOperations() = default;
  StartedOperations(const StartedOperations&) = delete;
  StartedOperations& operator=(const StartedOperations&) = delete;
  ~StartedOperations() { Forget(); }

  /// Takes over the event of the next operation, which may be null. If too many operations are on their way, waits for the
  /// oldest one, and returns its failure.
  Result<interp::EventId> Add(kdl_event* event);
  /// Returns the events that may not have occurred.
  std::vector<kdl_event*> Find(const std::vector<interp::EventId>& ids) const;
  /// Waits until all operations have completed or one has failed, and returns the failure.
  Status WaitForAll();
  /// Waits until all operations have ended, and returns the first failure.
  Status End();
  void Forget();

 private:
  Status WaitForOldest();

  std::deque<kdl_event*> events_;
  uint32_t first_ = 0;  ///< the id of the oldest event; ids continue with 0 after the last one
};

}  // namespace kdl::driver
