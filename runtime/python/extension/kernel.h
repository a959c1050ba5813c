#pragma once

#include "extension/python.h"

namespace kdl::python {

/// Adds the types `Kernel` and `Pending` and the function `load` to the module. On failure, sets a Python
/// exception and returns false.
bool AddKernels(PyObject* module);

}  // namespace kdl::python
