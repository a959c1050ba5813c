#pragma once

#include <cstdint>

#include "core/dlpack.h"
#include "extension/python.h"

namespace kdl::python {

/// DLPack's C exchange interface (version 1.3 of DLPack), which a type of arrays offers as `__dlpack_c_exchange_api__`. It takes a
/// fraction of the time of `__dlpack__`. Functions return 0, or set a Python exception.
struct ExchangeApi {
  uint32_t major;
  uint32_t minor;
  ExchangeApi* previous;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  /// Stores a description that is valid while the object lives and is not changed. May be null.
  int (*tensor_from_object)(void* object, runtime::dlpack::Tensor* tensor);
  /// Stores the stream on which the library works at present.
  int (*current_stream)(int32_t device_kind, int32_t device_number, void** stream);
};

/// Returns the interface of a tensor of PyTorch. Returns null for other objects, and for tensors that require gradients, which
/// `__dlpack__` refuses.
const ExchangeApi* FindExchange(PyObject* object);

/// Whether PyTorch's lazy negation is pending: the tensor's elements have the other sign than those in memory.
bool IsNegated(PyObject* object);

}  // namespace kdl::python
