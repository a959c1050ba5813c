#include "extension/description.h"

#include "core/element.h"
#include "extension/kernel.h"
#include "extension/tensor_argument.h"

namespace kdl::python {

namespace {

/// Returns a parameter as the tuple of the class Parameter in kernelc/calling.py: its name, direction, element type, shape, sizes, and
/// whether it is `broadcast` and `strided`.
PyObject* Describe(const kdl_variant& variant, const kdl_param_desc& param) {
  Ref sizes(PyTuple_New(param.rank));
  for (int32_t d = 0; d < param.rank && sizes; ++d) {
    int32_t symbol = param.dim_symbol[d];
    PyObject* size = nullptr;
    if (symbol >= 0) {
      size = PyUnicode_FromString(variant.dims[symbol]);
    } else if (symbol == KDL_DIM_CONST) {
      size = PyLong_FromLongLong(param.dim_const[d]);
    } else {
      Py_INCREF(Py_None);
      size = Py_None;
    }
    if (size == nullptr || PyTuple_SetItem(sizes.get(), d, size) != 0) return nullptr;
  }
  const char* direction = param.is_tensor == 0           ? ""
                          : param.direction == KDL_OUT   ? "out"
                          : param.direction == KDL_INOUT ? "inout"
                                                         : "in";
  const auto has = [&](uint8_t flag) { return (param.flags & flag) != 0 ? Py_True : Py_False; };
  return sizes ? Py_BuildValue("(ssssOOO)", param.name, direction,
                               runtime::ElementName(param.element).data(), param.shape, sizes.get(),
                               has(KDL_PARAM_BROADCAST), has(KDL_PARAM_STRIDED))
               : nullptr;
}

}  // namespace

PyObject* Signatures(PyObject* self, void* /*closure*/) {
  const Kernel& kernel = *AsKernel(self);
  Ref all(PyList_New(0));
  for (size_t f = kernel.begin; f < kernel.end && all; ++f) {
    const kdl_variant& variant = *kernel.library->functions()[f].variant;
    Ref params(PyList_New(0));
    for (int32_t p = 0; p < variant.param_count && params; ++p) {
      Ref one(Describe(variant, variant.params[p]));
      if (!one || PyList_Append(params.get(), one.get()) != 0) return nullptr;
    }
    if (!params || PyList_Append(all.get(), params.get()) != 0) return nullptr;
  }
  return all.release();
}

PyObject* FunctionConstants(PyObject* self, void* /*closure*/) {
  const Kernel& kernel = *AsKernel(self);
  Ref all(PyList_New(0));
  for (size_t f = kernel.begin; f < kernel.end && all; ++f) {
    Ref one(PyUnicode_FromString(kernel.library->functions()[f].constants.c_str()));
    if (!one || PyList_Append(all.get(), one.get()) != 0) return nullptr;
  }
  return all.release();
}

PyObject* Name(PyObject* self, void* /*closure*/) {
  const Kernel& kernel = *AsKernel(self);
  return PyUnicode_FromString(kernel.library->functions()[kernel.begin].name.c_str());
}

PyObject* ElementOf(PyObject* /*module*/, PyObject* args) {
  PyObject* object = nullptr;
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "Os", &object, &name) == 0) return nullptr;
  if (!TensorArgument::IsArray(object)) return PyUnicode_FromString("");
  TensorArgument tensor;
  if (!tensor.Open(object, name, nullptr)) return nullptr;
  return PyUnicode_FromString(runtime::ElementName(tensor.view().element).data());
}

PyObject* ShapeOf(PyObject* /*module*/, PyObject* object) {
  TensorArgument tensor;
  bool is_array = TensorArgument::IsArray(object);
  if (is_array && !tensor.Open(object, "argument", nullptr)) return nullptr;
  Ref sizes(PyTuple_New(tensor.view().rank));
  for (int32_t d = 0; d < tensor.view().rank && sizes; ++d) {
    PyObject* size = PyLong_FromLongLong(tensor.view().size[d]);
    if (size == nullptr || PyTuple_SetItem(sizes.get(), d, size) != 0) return nullptr;
  }
  return sizes.release();
}

}  // namespace kdl::python
