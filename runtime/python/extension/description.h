#pragma once

#include "extension/python.h"

// What Python can learn of kernels and arrays without a call.

namespace kdl::python {

/// Kernel.signatures: the parameters of each function of the kernel.
PyObject* Signatures(PyObject* kernel, void* closure);

/// Kernel.constants: for each function of the kernel, the constants that distinguish it from the others.
PyObject* FunctionConstants(PyObject* kernel, void* closure);

/// Kernel.name: its name in the source.
PyObject* Name(PyObject* kernel, void* closure);

/// element(object, name): returns the element type of an array, such as "f32"; "" if the object is not an array. Exceptions call it
/// by its name.
PyObject* ElementOf(PyObject* module, PyObject* args);

/// shape(object): returns the sizes of an array; () if the object is not an array.
PyObject* ShapeOf(PyObject* module, PyObject* object);

}  // namespace kdl::python
