#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "extension/python.h"
#include "extension/tensor_argument.h"
#include "kdl/kernel_abi.h"
#include "kdl/runtime.h"

namespace kdl::python {

/// The arguments of one call, as Python passes them. They keep the memory of arrays open.
class Arguments {
 public:
  /// Opens the arguments, of which there are as many as the kernel has parameters, for kernels at this place; if it is null, only
  /// for their types and shapes. `variant` is any variant of the kernel. On failure, sets a Python exception and returns false.
  bool Open(PyObject* const* objects, const kdl_variant& variant, const ArrayPlace* place);

  const kdl_dynamic_arg* given() const { return given_.data(); }
  /// The streams whose present work the call must follow.
  const std::vector<long long>& streams() const { return streams_; }
  int32_t count() const { return static_cast<int32_t>(given_.size()); }

 private:
  std::unique_ptr<TensorArgument[]> tensors_;  ///< one for each parameter
  std::vector<kdl_dynamic_arg> given_;
  std::vector<long long> streams_;
};

}  // namespace kdl::python
