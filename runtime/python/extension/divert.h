#pragma once

#include <cstdint>

#include "extension/python.h"

namespace kdl::python {

/// divert(change): adds to the number of reasons for which calls go to Python first (kernelc/interpreter.py).
PyObject* Divert(PyObject* module, PyObject* change);

/// If there are such reasons, calls `kernel.diverted(core_num, args, keywords)` and returns true, unless that
/// returns NotImplemented. `result` is then what it has returned, or null with a Python exception. `keywords`
/// may be null.
bool CallDiverted(PyObject* kernel, int64_t core_num, PyObject* args, PyObject* keywords,
                  PyObject** result);

}  // namespace kdl::python
