// How long a device's kernels take by its own clock. Drivers take a little longer where they measure it, so a device does where
// somebody looks: at a trace, or at what the device counts.
#pragma once

#include <atomic>
#include <cstdint>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

class KernelClock {
 public:
  // Whoever asks for the sum wants the kernels after that measured.
  std::int64_t Ask() {
    is_asked_ = true;
    return sum_ns_;
  }
  bool Wants(const kdl_launch_request& request) const {
    return is_asked_ || request.observer != nullptr;
  }
  // Of a part of the launch, which has just ended.
  void Add(const kdl_launch_request& request, std::int64_t ns);

 private:
  std::atomic<bool> is_asked_ = false;
  std::atomic<std::int64_t> sum_ns_ = 0;
};

}  // namespace kdl::runtime
