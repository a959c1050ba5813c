#include "extension/arguments.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "core/binding_parts.h"
#include "core/element.h"
#include "core/text.h"
#include "extension/context.h"

namespace kdl::python {

namespace {

/// Raises ArgumentError for a number that the parameter's type cannot represent. The number is an integer of more than 64
/// bits.
bool RefuseInteger(PyObject* number, const char* name, std::string_view type) {
  constexpr size_t kMostDigits = 60;
  Ref digits(PyObject_Str(number));  // fails if the number has thousands of digits
  const char* text = digits ? PyUnicode_AsUTF8AndSize(digits.get(), nullptr) : nullptr;
  PyErr_Clear();
  std::string shown = text == nullptr ? "" : text;
  if (shown.empty() || shown.size() > kMostDigits) shown = "an integer of more than 64 bits";
  std::string message =
      runtime::Concat("'", name, "' is ", shown, ", which ", type, " cannot represent");
  return Succeeded(kdl_error_create(KDL_ERROR_INVALID_ARGUMENT, message.c_str()));
}

bool IsInteger(std::string_view type) { return type.starts_with('i') || type.starts_with('u'); }

/// Converts a Python number without loss, if 64 bits can represent it. Otherwise, sets an exception and returns
/// false. `type` is that of the parameter.
bool OpenNumber(PyObject* object, const char* name, std::string_view type, kdl_dynamic_arg* given) {
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
      PyErr_Clear();
      if (IsInteger(type)) return RefuseInteger(whole.get(), name, type);
    } else if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) {
      return false;
    }
    PyErr_Clear();
  }
  given->kind = KDL_DYNAMIC_FLOAT;
  given->value.number = PyFloat_AsDouble(object);
  if (given->value.number != -1.0 || PyErr_Occurred() == nullptr) return true;
  if (PyErr_ExceptionMatches(PyExc_OverflowError) != 0) {
    PyErr_Clear();
    return RefuseInteger(object, name, type);
  }
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return false;
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "'%s' must be a number, not %R", name, object);
  return false;
}

}  // namespace

bool Arguments::Open(PyObject* const* objects, const kdl_variant& variant,
                     const ArrayPlace* place) {
  auto count = static_cast<size_t>(variant.param_count);
  tensors_ = std::make_unique<TensorArgument[]>(count);
  given_.resize(count);
  for (size_t p = 0; p < count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) {
      if (!OpenNumber(objects[p], param.name, runtime::ElementName(param.element), &given_[p]))
        return false;
      continue;
    }
    if (objects[p] == Py_None && runtime::IsOptional(variant, param)) {
      given_[p] = {KDL_DYNAMIC_TENSOR, 0, {nullptr}};
      continue;
    }
    TensorArgument& tensor = tensors_[p];
    if (!tensor.Open(objects[p], param.name, place)) return false;
    given_[p] = {tensor.is_on_device() ? KDL_DYNAMIC_DEVICE_TENSOR : KDL_DYNAMIC_TENSOR,
                 tensor.is_read_only() ? 1 : 0,
                 {&tensor.view()}};
    if (tensor.stream() != 0 && std::ranges::find(streams_, tensor.stream()) == streams_.end())
      streams_.push_back(tensor.stream());
  }
  return true;
}

}  // namespace kdl::python
