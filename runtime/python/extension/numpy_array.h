#pragma once

#include <cstdint>

#include "extension/python.h"

namespace kdl::python {

/// The fields of a NumPy array, whose layout is part of NumPy's C interface and the same in versions 1 and 2.
/// Reading them takes a fraction of the time of the buffer protocol.
struct NumpyArray {
  PyObject_HEAD char* data;
  int rank;
  Py_ssize_t* sizes;
  Py_ssize_t* strides;  ///< in bytes
  PyObject* base;
  PyObject* type;  ///< the object for the element type, of which there is usually one for each type
  int flags;
};

constexpr int kNumpyWriteable = 0x400;

/// Returns the object's fields if it is an array of NumPy and not of a subclass, else null. Does not import
/// NumPy.
const NumpyArray* AsNumpyArray(PyObject* object);

/// The element types for objects that describe them in NumPy arrays.
struct KnownType {
  PyObject* type;  ///< owned, so that no other object gets its address
  uint8_t element;
  uint8_t bytes;
};

/// Returns the element type for an array's type object, or null if it has not been added.
const KnownType* FindKnownType(PyObject* type);

/// Adds an element type in the machine's byte order.
void AddKnownType(PyObject* type, uint8_t element, uint8_t bytes);

}  // namespace kdl::python
