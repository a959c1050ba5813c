#pragma once

#include <cstdint>

#include "extension/python.h"
#include "kdl/kernel_abi.h"

namespace kdl::python {

/// Returns the stream with this handle, for functions of the runtime.
inline void* StreamOf(long long handle) {
  return reinterpret_cast<void*>(static_cast<intptr_t>(handle));
}

/// The argument `stream=` of a call: the caller's stream on a GPU. A parameter of the kernel with this name takes precedence.
class CallStream {
 public:
  /// Removes the argument from `keywords`, which may be null; the result lives as long as this object. On failure, sets a Python
  /// exception and returns false.
  bool TakeStreamArgument(const kdl_variant& variant, PyObject** keywords);

  bool is_given() const { return is_given_; }
  /// The CUDA stream handle; 1 means the default stream, as in DLPack.
  long long handle() const { return handle_; }
  /// Queue of the call: 0 without a stream; otherwise 32 to 63. After 32 streams, queues are reused.
  int32_t queue() const { return queue_; }

 private:
  Ref others_;
  bool is_given_ = false;
  long long handle_ = 0;
  int32_t queue_ = 0;
};

}  // namespace kdl::python
