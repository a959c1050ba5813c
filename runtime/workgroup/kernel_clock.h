// Kernel times measured by a device's own clock. Measuring slows drivers down, so a device measures only
// while someone needs the times: a trace, or a reader of the device's counters.
#pragma once

#include <atomic>
#include <cstdint>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

class KernelClock {
 public:
  // Returns the total time so far, and turns on measuring for later kernels.
  std::int64_t Ask() {
    is_asked_ = true;
    return sum_ns_;
  }
  bool Wants(const kdl_launch_request& request) const {
    return is_asked_ || request.observer != nullptr;
  }
  // Adds the time of those kernels of the launch that have just ended.
  void Add(const kdl_launch_request& request, std::int64_t ns);

 private:
  std::atomic<bool> is_asked_ = false;
  std::atomic<std::int64_t> sum_ns_ = 0;
};

}  // namespace kdl::runtime
