// Errors of the C interface as values, for C++17 and later, with or without exceptions.
#pragma once

#include <utility>

#include "kdl/runtime.h"

namespace kdl {
inline namespace KDL_VERSIONED {

// The result of a call: success or an error. It owns the error.
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
  // Returns the message, which is valid while this object exists. On success, returns "".
  const char* message() const { return kdl_error_message(error_); }
  // Transfers ownership of the error to the caller. Returns null on success.
  kdl_error* Release() { return std::exchange(error_, nullptr); }

 private:
  kdl_error* error_ = nullptr;
};

}  // namespace KDL_VERSIONED
}  // namespace kdl
