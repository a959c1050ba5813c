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
  /// Opens the arguments, of which there are as many as the kernel has parameters. `variant` is any variant of
  /// the kernel. On failure, sets a Python exception and returns false.
  bool Open(PyObject* const* objects, const kdl_variant& variant);

  const kdl_dynamic_arg* given() const { return given_.data(); }
  int32_t count() const { return static_cast<int32_t>(given_.size()); }

 private:
  std::unique_ptr<TensorArgument[]> tensors_;  ///< one for each parameter
  std::vector<kdl_dynamic_arg> given_;
};

}  // namespace kdl::python
