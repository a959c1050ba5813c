#include "extension/tensor_argument.h"

#include <cstring>
#include <optional>
#include <string_view>

#include "core/dlpack.h"
#include "core/element.h"
#include "extension/context.h"
#include "extension/numpy_array.h"

namespace kdl::python {

namespace dlpack = runtime::dlpack;

namespace {

/// Returns the element type for a buffer's format and element size, such as "f" and 4.
std::optional<uint8_t> ElementOfFormat(const char* format, Py_ssize_t bytes) {
  std::string_view code = format == nullptr ? "B" : format;
  if (!code.empty() && std::string_view("@=<").find(code[0]) != std::string_view::npos)
    code.remove_prefix(1);
  if (code.size() != 1) return std::nullopt;
  if (code == "?") return KDL_BOOL;
  if (code == "e") return KDL_F16;
  if (code == "f") return KDL_F32;
  if (code == "d") return KDL_F64;
  if (std::string_view("bhilqn").find(code[0]) != std::string_view::npos)
    return runtime::IntegerElement(true, bytes * 8);
  if (std::string_view("BHILQN").find(code[0]) != std::string_view::npos)
    return runtime::IntegerElement(false, bytes * 8);
  return std::nullopt;
}

/// An element type that the buffer protocol does not know. NumPy gets these types from the package ml_dtypes.
struct NamedElement {
  std::string_view name;
  uint8_t element;
  const char* same_size;
};
constexpr NamedElement kNamedElements[] = {{"bfloat16", KDL_BF16, "uint16"},
                                           {"float8_e4m3fn", KDL_F8E4M3, "uint8"},
                                           {"float8_e5m2", KDL_F8E5M2, "uint8"}};

/// If the array's elements have a type of `kNamedElements`, returns a view of its memory as integers of the same
/// size, and stores the type.
Ref AsIntegers(PyObject* array, uint8_t* element) {
  Ref type(PyObject_GetAttrString(array, "dtype"));
  Ref name(type ? PyObject_GetAttrString(type.get(), "name") : nullptr);
  const char* text = name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  PyErr_Clear();
  for (const NamedElement& named : kNamedElements) {
    if (text == nullptr || text != named.name) continue;
    *element = named.element;
    return Ref(PyObject_CallMethod(array, "view", "s", named.same_size));
  }
  return Ref();
}

}  // namespace

TensorArgument::~TensorArgument() {
  if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  Py_XDECREF(owner_);
}

bool TensorArgument::IsArray(PyObject* object) {
  return PyObject_CheckBuffer(object) != 0 || PyObject_HasAttrString(object, "__dlpack__") != 0;
}

bool TensorArgument::Open(PyObject* array, const char* name) {
  if (OpenNumpy(array)) return true;
  if (PyObject_CheckBuffer(array) != 0) return OpenBuffer(array, name);
  if (PyObject_HasAttrString(array, "__dlpack__") != 0) return OpenDlpack(array, name);
  Ref type(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(array)), "__name__"));
  PyErr_Format(PyExc_TypeError, "'%s' must be an array, such as one of NumPy or PyTorch, not %U",
               name, type.get());
  return false;
}

bool TensorArgument::OpenNumpy(PyObject* array) {
  const NumpyArray* fields = AsNumpyArray(array);
  if (fields == nullptr || fields->rank > KDL_MAX_RANK) return false;
  const KnownType* type = FindKnownType(fields->type);
  if (type == nullptr) return false;
  view_ = {};
  view_.data = fields->data;
  view_.element = type->element;
  view_.element_bits = static_cast<uint16_t>(type->bytes * 8);
  view_.rank = fields->rank;
  view_.layout = KDL_LAYOUT_STRIDED;
  for (int32_t d = 0; d < KDL_MAX_RANK; ++d) {
    bool has = d < fields->rank;
    if (has && fields->sizes[d] > 1 && fields->strides[d] % type->bytes != 0) return false;
    view_.size[d] = has ? fields->sizes[d] : 1;
    view_.stride[d] = has ? fields->strides[d] / type->bytes : 0;
  }
  is_read_only_ = (fields->flags & kNumpyWriteable) == 0;
  Py_INCREF(array);
  owner_ = array;
  return true;
}

bool TensorArgument::OpenBuffer(PyObject* array, const char* name) {
  std::optional<uint8_t> element;
  if (PyObject_GetBuffer(array, &buffer_, PyBUF_RECORDS_RO) != 0) {
    buffer_.obj = nullptr;
    PyErr_Clear();
    uint8_t named = 0;
    Ref integers = AsIntegers(array, &named);
    if (!integers || PyObject_GetBuffer(integers.get(), &buffer_, PyBUF_RECORDS_RO) != 0) {
      buffer_.obj = nullptr;
      PyErr_Format(PyExc_TypeError, "'%s': kernels do not know the element type of this array",
                   name);
      return false;
    }
    element = named;
  } else {
    element = ElementOfFormat(buffer_.format, buffer_.itemsize);
  }
  if (!element) {
    PyErr_Format(PyExc_TypeError, "'%s': kernels do not know elements of format '%s'", name,
                 buffer_.format);
    return false;
  }
  view_.data = buffer_.buf;
  view_.element = *element;
  view_.element_bits = static_cast<uint16_t>(buffer_.itemsize * 8);
  is_read_only_ = buffer_.readonly != 0;
  if (!SetShape(buffer_.ndim, name)) return false;
  SetRowMajor();
  for (int32_t d = 0; d < view_.rank && buffer_.strides != nullptr; ++d) {
    if (view_.size[d] > 1 && buffer_.strides[d] % buffer_.itemsize != 0) {
      PyErr_Format(PyExc_ValueError,
                   "'%s': the stride of axis %d is %zd bytes, which is no multiple of the element "
                   "size %zd; pass a copy",
                   name, d, buffer_.strides[d], buffer_.itemsize);
      return false;
    }
    view_.stride[d] = buffer_.strides[d] / buffer_.itemsize;
  }
  if (const NumpyArray* fields = AsNumpyArray(array))
    AddKnownType(fields->type, view_.element, static_cast<uint8_t>(buffer_.itemsize));
  return true;
}

/// Takes the shape of the buffer, and the strides for elements without gaps. Arrays of ctypes state no strides, although the
/// request asks for them.
void TensorArgument::SetRowMajor() {
  int64_t stride = 1;
  for (int32_t d = view_.rank - 1; d >= 0; --d) {
    view_.size[d] = buffer_.shape[d];
    view_.stride[d] = stride;
    stride *= buffer_.shape[d];
  }
}

bool TensorArgument::OpenDlpack(PyObject* array, const char* name) {
  Ref method(PyObject_GetAttrString(array, "__dlpack__"));
  Ref none(PyTuple_New(0));
  Ref newest(Py_BuildValue("{s:(ii)}", "max_version", 1, 0));
  if (!method || !none || !newest) return false;
  owner_ = PyObject_Call(method.get(), none.get(), newest.get());
  if (owner_ == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    PyErr_Clear();
    owner_ = PyObject_Call(method.get(), none.get(), nullptr);
  }
  if (owner_ == nullptr) return false;
  const dlpack::Tensor* tensor = nullptr;
  if (PyCapsule_IsValid(owner_, "dltensor_versioned") != 0) {
    auto* managed =
        static_cast<dlpack::VersionedManaged*>(PyCapsule_GetPointer(owner_, "dltensor_versioned"));
    if (managed->major == 1) tensor = &managed->tensor;
    is_read_only_ = (managed->flags & dlpack::kReadOnly) != 0;
  } else if (PyCapsule_IsValid(owner_, "dltensor") != 0) {
    tensor = &static_cast<dlpack::Managed*>(PyCapsule_GetPointer(owner_, "dltensor"))->tensor;
  }
  if (tensor == nullptr) {
    PyErr_Format(PyExc_TypeError, "'%s': this version of DLPack is not supported", name);
    return false;
  }
  return Succeeded(dlpack::ViewOf(*tensor, name, &view_).release());
}

bool TensorArgument::SetShape(int32_t rank, const char* name) {
  if (rank > KDL_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "'%s' has %d axes; kernels support at most %d", name, rank,
                 KDL_MAX_RANK);
    return false;
  }
  view_.rank = rank;
  view_.layout = KDL_LAYOUT_STRIDED;
  for (int32_t d = rank; d < KDL_MAX_RANK; ++d) view_.size[d] = 1;
  return true;
}

}  // namespace kdl::python
