#include "extension/numpy_array.h"

#include <vector>

namespace kdl::python {

namespace {

std::vector<KnownType> known_types;
constexpr size_t kMostKnownTypes = 64;

/// Returns NumPy's array type as a borrowed reference, or null if NumPy has not been imported.
PyObject* ArrayType() {
  static PyObject* type = nullptr;
  if (type != nullptr) return type;
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* numpy = PyDict_GetItemString(modules, "numpy");
  if (numpy != nullptr) type = PyObject_GetAttrString(numpy, "ndarray");
  PyErr_Clear();  // during the import of NumPy, the attribute may be missing
  return type;
}

}  // namespace

const NumpyArray* AsNumpyArray(PyObject* object) {
  bool is_array = reinterpret_cast<PyObject*>(Py_TYPE(object)) == ArrayType();
  return is_array ? reinterpret_cast<const NumpyArray*>(object) : nullptr;
}

const KnownType* FindKnownType(PyObject* type) {
  for (const KnownType& known : known_types) {
    if (known.type == type) return &known;
  }
  return nullptr;
}

void AddKnownType(PyObject* type, uint8_t element, uint8_t bytes) {
  if (known_types.size() == kMostKnownTypes) return;
  Py_INCREF(type);
  known_types.push_back({type, element, bytes});
}

}  // namespace kdl::python
