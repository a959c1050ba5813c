// The state of a device that can no longer be used. All later requests fail with the message of the first
// error, and the driver is not called again.
#pragma once

#include <mutex>
#include <string>

#include "core/error.h"

namespace kdl::runtime {

class LostDevice {
 public:
  // Returns the error if the device is lost; otherwise, returns null.
  Error Told() const {
    const std::lock_guard lock(mutex_);
    return text_.empty() ? nullptr : Fail(KDL_ERROR_DEVICE, text_);
  }
  // Marks the device as lost. If it is called several times, the first message is kept.
  Error Lose(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (text_.empty()) {
      text_ = Concat(text,
                     "; this process cannot use the device any more: restart it. If a kernel "
                     "accessed memory that is not its own, `kernelc run` with --device "
                     "'reference?sanitize=races+init' stops at that access");
    }
    return Fail(KDL_ERROR_DEVICE, text_);
  }

 private:
  mutable std::mutex mutex_;  // guards the members below
  std::string text_;
};

}  // namespace kdl::runtime
