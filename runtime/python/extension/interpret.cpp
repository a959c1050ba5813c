#include "extension/interpret.h"

namespace kdl::python {

namespace {

/// The number of blocks of `interpret` that threads are in. The interpreter's lock protects it.
long interpret_depth = 0;

}  // namespace

PyObject* ChangeInterpretDepth(PyObject* /*module*/, PyObject* change) {
  long number = PyLong_AsLong(change);
  if (number == -1 && PyErr_Occurred() != nullptr) return nullptr;
  interpret_depth += number;
  Py_RETURN_NONE;
}

bool CallInInterpreter(PyObject* kernel, int64_t core_num, PyObject* args, PyObject* keywords,
                       PyObject** result) {
  if (interpret_depth == 0) return false;
  Ref none(keywords == nullptr ? PyDict_New() : nullptr);
  *result =
      PyObject_CallMethod(kernel, "call_in_interpreter", "LOO", static_cast<long long>(core_num),
                          args, keywords == nullptr ? none.get() : keywords);
  if (*result != Py_NotImplemented) return true;
  Py_DECREF(*result);
  return false;
}

}  // namespace kdl::python
