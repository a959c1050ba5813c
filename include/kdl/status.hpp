// Errors of the C interface as values, for C++17 with or without exceptions.
#pragma once

#include <utility>

#include "kdl/runtime.h"

namespace kdl {
inline namespace KDL_VERSIONED {

// What a call gave: that all is well, or an error, which it owns.
class [[nodiscard]] Status {
 public:
  Status() = default;
  explicit Status(kdl_error* error) : error_(error) {}
  Status(Status&& other) noexcept : error_(other.Release()) {}
  Status& operator=(Status&& other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~Status() { kdl_error_free(error_); }

  bool ok() const { return error_ == nullptr; }
  kdl_code code() const { return kdl_error_code(error_); }
  // "" where all is well; as long as the status.
  const char* message() const { return kdl_error_message(error_); }
  // Gives the error to the caller, who frees it; null where there is none.
  kdl_error* Release() { return std::exchange(error_, nullptr); }

 private:
  kdl_error* error_ = nullptr;
};

}  // namespace KDL_VERSIONED
}  // namespace kdl
