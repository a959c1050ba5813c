#include "extension/divert.h"

namespace kdl::python {

namespace {

/// The interpreter's lock protects it.
long reasons = 0;

}  // namespace

PyObject* Divert(PyObject* /*module*/, PyObject* change) {
  long number = PyLong_AsLong(change);
  if (number == -1 && PyErr_Occurred() != nullptr) return nullptr;
  reasons += number;
  Py_RETURN_NONE;
}

bool CallDiverted(PyObject* kernel, int64_t core_num, PyObject* args, PyObject* keywords,
                  PyObject** result) {
  if (reasons == 0) return false;
  Ref none(keywords == nullptr ? PyDict_New() : nullptr);
  *result = PyObject_CallMethod(kernel, "diverted", "LOO", static_cast<long long>(core_num), args,
                                keywords == nullptr ? none.get() : keywords);
  if (*result != Py_NotImplemented) return true;
  Py_DECREF(*result);
  return false;
}

}  // namespace kdl::python
