// A device that its driver has given up: what it says of that once, all that is asked of it later says, too, and the driver is not
// asked again.
#pragma once

#include <mutex>
#include <string>

#include "core/error.h"

namespace kdl::runtime {

class LostDevice {
 public:
  // Null: it is there.
  Error Told() const {
    const std::lock_guard lock(mutex_);
    return text_.empty() ? nullptr : Fail(KDL_ERROR_DEVICE, text_);
  }
  // From here on it is not; of several texts the first one stays.
  Error Lose(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (text_.empty()) {
      text_ = Concat(text,
                     "; the device is lost to this process: end it and start anew. Where a kernel "
                     "touched what is not its "
                     "own, `kernelc run` with --device 'reference?watch=races' stops at the place");
    }
    return Fail(KDL_ERROR_DEVICE, text_);
  }

 private:
  mutable std::mutex mutex_;  // guards the rest
  std::string text_;
};

}  // namespace kdl::runtime
