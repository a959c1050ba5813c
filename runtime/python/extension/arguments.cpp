#include "extension/arguments.h"

namespace kdl::python {

namespace {

/// Converts a Python number without loss, if 64 bits can represent it. Otherwise, sets an exception and returns
/// false.
bool OpenNumber(PyObject* object, const char* name, kdl_dynamic_arg* given) {
  if (PyIndex_Check(object) != 0) {
    Ref whole(PyNumber_Index(object));
    if (whole) {
      int overflow = 0;
      given->kind = KDL_DYNAMIC_INTEGER;
      given->value.integer = PyLong_AsLongLongAndOverflow(whole.get(), &overflow);
      if (overflow == 0) return true;
      given->kind = KDL_DYNAMIC_UNSIGNED;
      given->value.unsigned_integer = PyLong_AsUnsignedLongLong(whole.get());
      if (PyErr_Occurred() == nullptr) return true;
    } else if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) {
      return false;
    }
    PyErr_Clear();
  }
  given->kind = KDL_DYNAMIC_FLOAT;
  given->value.number = PyFloat_AsDouble(object);
  if (given->value.number != -1.0 || PyErr_Occurred() == nullptr) return true;
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return false;
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "'%s' must be a number, not %R", name, object);
  return false;
}

}  // namespace

bool Arguments::Open(PyObject* const* objects, const kdl_variant& variant) {
  auto count = static_cast<size_t>(variant.param_count);
  tensors_ = std::make_unique<TensorArgument[]>(count);
  given_.resize(count);
  for (size_t p = 0; p < count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) {
      if (!OpenNumber(objects[p], param.name, &given_[p])) return false;
      continue;
    }
    if (!tensors_[p].Open(objects[p], param.name)) return false;
    given_[p] = {KDL_DYNAMIC_TENSOR, tensors_[p].is_read_only() ? 1 : 0, {&tensors_[p].view()}};
  }
  return true;
}

}  // namespace kdl::python
