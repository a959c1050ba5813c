#pragma once

#include "extension/python.h"

namespace kdl::python {

/// submit(*args, **keywords): enqueues a call and returns it as an object of the type Pending.
PyObject* Submit(PyObject* kernel, PyObject* args, PyObject* keywords);

/// enqueue(core_num, queue, args, keywords): does so on a number of cores, and on a queue of the device.
PyObject* EnqueueKernel(PyObject* kernel, PyObject* args);

/// finish(): waits for all calls, before the interpreter ends.
PyObject* Finish(PyObject* module, PyObject* none);

/// Adds the type `Pending` to the module. On failure, sets a Python exception and returns false.
bool AddPendingCalls(PyObject* module);

}  // namespace kdl::python
