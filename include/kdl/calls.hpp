// What generated classes for kernels that take pointers consist of, for C++17 and later. Nothing here throws.
#pragma once

#include <utility>

#include "kdl/status.hpp"

namespace kdl {
inline namespace KDL_VERSIONED {

// Owns an object of the C interface, or nothing.
template <class Object, void (*free)(Object*)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Object* object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() { free(object_); }

  Object* get() const { return object_; }
  // Calls `open` to make another object, which replaces this one if there is no error.
  template <class Open>
  Status Replace(Open open, kdl_context* context, const char* device) {
    Owned made;
    Status status(open(context, device, &made.object_));
    if (status.ok()) std::swap(object_, made.object_);
    return status;
  }

 private:
  Object* object_ = nullptr;
};

// A kernel with its arguments, which were checked once for many calls, or nothing.
class BoundCall {
 public:
  BoundCall() = default;
  explicit BoundCall(kdl_bound_call* call) : call_(call) {}

  // Runs the kernel on the present contents of its tensors. Only one thread at a time may call this.
  Status operator()() const { return Status(kdl_bound_call_run(call_.get())); }

 private:
  Owned<kdl_bound_call, kdl_bound_call_free> call_;
};

}  // namespace KDL_VERSIONED
}  // namespace kdl
