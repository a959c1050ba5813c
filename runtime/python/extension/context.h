#pragma once

#include "extension/python.h"
#include "kdl/runtime.h"

namespace kdl::python {

/// Returns the runtime context of this process, which is created on first use and never destroyed. A forked
/// process gets a context of its own. Output of `print` in kernels goes to `sys.stdout`. On failure, sets a
/// Python exception and returns null.
kdl_context* Context();

/// The number of times that a fork has replaced the context. Handles from before the last fork are invalid.
long ForkCount();

/// Python calls this in the child after a fork.
PyObject* AfterFork(PyObject* module, PyObject* none);

/// Remembers the package that this module is part of. On failure, sets a Python exception and returns false.
bool SetPackage(PyObject* module);

/// From now on, output of `print` in kernels goes to the process's standard output.
void PrintWithoutPython();

/// If `error` is not null, sets the Python exception for it, frees it and returns false.
bool Succeeded(kdl_error* error);

}  // namespace kdl::python
