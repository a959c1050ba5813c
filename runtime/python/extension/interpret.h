#pragma once

#include <cstdint>

#include "extension/python.h"

namespace kdl::python {

/// change_interpret_depth(change): adds to the number of blocks of `interpret` that threads are in (kernelc/interpreter.py).
PyObject* ChangeInterpretDepth(PyObject* module, PyObject* change);

/// If threads are in such blocks, calls `kernel.call_in_interpreter(core_num, args, keywords)` and returns true, unless that returns
/// NotImplemented, because this thread is in none. `result` is then what it has returned, or null with a Python exception. `keywords`
/// may be null.
bool CallInInterpreter(PyObject* kernel, int64_t core_num, PyObject* args, PyObject* keywords,
                       PyObject** result);

}  // namespace kdl::python
