#pragma once

#include <cstddef>

#include "extension/library.h"
#include "extension/python.h"
#include "kdl/kernel_abi.h"

namespace kdl::python {

/// A kernel as an object of Python. A library is never unloaded, so a kernel only points to it.
struct Kernel {
  PyObject_HEAD Library* library;
  size_t begin;  ///< its functions: those with the same name, for different element types
  size_t end;
};

inline Kernel* AsKernel(PyObject* object) { return reinterpret_cast<Kernel*>(object); }

/// Returns one of the kernel's variants. All have the same parameters except for element types and sizes.
inline const kdl_variant& AnyVariant(const Kernel& kernel) {
  return *kernel.library->functions()[kernel.begin].variant;
}

/// Adds the type `Kernel` and the function `load` to the module. On failure, sets a Python exception and returns false.
bool AddKernels(PyObject* module);

}  // namespace kdl::python
