#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "extension/library.h"
#include "extension/tensor_argument.h"

namespace kdl::python {

/// The arguments of one call, as Python passes them. They keep the memory of arrays open.
class Arguments {
 public:
  /// Opens the arguments, of which there are as many as the kernel has parameters, and selects the function
  /// that fits their element types. `begin` and `end` limit the functions of this kernel. On failure, sets a
  /// Python exception and returns false.
  bool Open(PyObject* const* given, const Library& library, size_t begin, size_t end);

  size_t function() const { return function_; }
  /// Whether all tensors are in row-major order without gaps.
  bool are_dense() const;

  // For kdl_kernels_call.
  const int64_t* sizes() const { return sizes_.data(); }
  const kdl_value* values() const { return values_.data(); }

  /// Calls the function with tensors that may have gaps, on `core_num` cores. Returns its error.
  kdl_error* Launch(Library& library, int64_t core_num);

 private:
  bool Select(const Library& library, size_t begin, size_t end);
  bool Fits(const kdl_variant& variant) const;
  bool Convert(PyObject* const* given, const kdl_variant& variant);

  const kdl_variant* variant_ = nullptr;
  size_t function_ = 0;
  std::unique_ptr<TensorArgument[]> tensors_;  ///< one for each parameter
  std::vector<int64_t> sizes_;
  std::vector<kdl_value> values_;
};

}  // namespace kdl::python
