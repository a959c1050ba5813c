// A kernel with its arguments, which were checked once for many calls, for C++17 and later.
#pragma once

#include <utility>

#include "kdl/status.hpp"

namespace kdl {
inline namespace KDL_VERSIONED {

// A bound call, or nothing. It owns what the calls need. Never throws.
class BoundCall {
 public:
  BoundCall() = default;
  explicit BoundCall(kdl_bound_call* call) : call_(call) {}
  BoundCall(BoundCall&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
  BoundCall& operator=(BoundCall&& other) noexcept {
    std::swap(call_, other.call_);
    return *this;
  }
  ~BoundCall() { kdl_bound_call_free(call_); }

  // Runs the kernel on the present contents of its tensors. One thread at a time may call this.
  Status operator()() const { return Status(kdl_bound_call_run(call_)); }
  kdl_bound_call* get() const { return call_; }

 private:
  kdl_bound_call* call_ = nullptr;
};

}  // namespace KDL_VERSIONED
}  // namespace kdl
