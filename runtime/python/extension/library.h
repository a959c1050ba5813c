#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "extension/python.h"
#include "extension/tensor_argument.h"
#include "kdl/kernel_abi.h"
#include "kdl/runtime.h"

namespace kdl::python {

/// A kernel for given element types, as one of the functions of a library.
struct Function {
  std::string name;       ///< as in the source: "matmul"
  std::string constants;  ///< those that distinguish it from the kernel's other functions: "T=f32"
  std::string lookup;     ///< for the runtime: "mlp#1f2e3d4c.matmul<T=f32>"
  const kdl_variant* variant;  ///< one of its variants; all have the same parameters
};

/// The kernels of a shared object that kernelc has built, on one device.
class Library {
 public:
  /// Loads the shared object, which then stays loaded for as long as the process lives. On failure, sets a
  /// Python exception and returns null.
  static Library* Load(const char* path, const char* device);

  /// The functions of a kernel are adjacent.
  const std::vector<Function>& functions() const { return functions_; }

  /// Prepares for calls in this process: after a fork, everything is opened again. On failure, sets a Python
  /// exception and returns false.
  bool OpenKernels();
  const kdl_kernels* kernels() const { return kernels_; }
  /// Where its kernels run. Only after OpenKernels.
  const ArrayPlace& place() const { return place_; }

 private:
  void AddFunctions(const kdl_image& image);

  std::string spec_;
  const kdl_image* const* images_ = nullptr;
  std::vector<Function> functions_;
  long fork_count_ = -1;  ///< when the kernels were opened
  kdl_kernels* kernels_ = nullptr;
  ArrayPlace place_;
};

}  // namespace kdl::python
