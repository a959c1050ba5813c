#include "extension/tensor_argument.h"

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/dlpack.h"
#include "core/element.h"
#include "core/text.h"
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

/// Returns the element type for NumPy's description of a type, such as "<f4".
std::optional<uint8_t> ElementOfTypestr(std::string_view text) {
  if (text.size() != 3 || text[0] == '>' || text[2] < '1' || text[2] > '8') return std::nullopt;
  const int64_t bytes = text[2] - '0';
  if (text[1] == 'b') return bytes == 1 ? std::optional<uint8_t>(KDL_BOOL) : std::nullopt;
  if (text[1] == 'i' || text[1] == 'u') return runtime::IntegerElement(text[1] == 'i', bytes * 8);
  if (text[1] != 'f') return std::nullopt;
  return bytes == 2   ? std::optional<uint8_t>(KDL_F16)
         : bytes == 4 ? std::optional<uint8_t>(KDL_F32)
         : bytes == 8 ? std::optional<uint8_t>(KDL_F64)
                      : std::nullopt;
}

/// An element type that the buffer protocol does not know. NumPy gets these types from the package ml_dtypes.
struct NamedElement {
  std::string_view name;
  uint8_t element;
  const char* same_size;
};
constexpr NamedElement kNamedElements[] = {{"bfloat16", KDL_BF16, "uint16"},
                                           {"float8_e4m3fn", KDL_F8E4M3, "uint8"},
                                           {"float8_e5m2", KDL_F8E5M2, "uint8"},
                                           {"float8_e8m0fnu", KDL_F8E8M0, "uint8"}};

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

constexpr const char* kCudaArray = "__cuda_array_interface__";

/// Calls `__dlpack__` of the array. Old producers know fewer arguments, and only those on devices know `stream`.
PyObject* CallDlpack(PyObject* array, bool has_stream, long long stream) {
  Ref method(PyObject_GetAttrString(array, "__dlpack__"));
  Ref none(PyTuple_New(0));
  Ref newest(Py_BuildValue("{s:(ii)}", "max_version", 1, 0));
  Ref number(PyLong_FromLongLong(stream));
  Ref older(PyDict_New());
  if (!method || !none || !newest || !number || !older) return nullptr;
  for (const Ref* keywords : {&newest, &older}) {
    if (has_stream && PyDict_SetItemString(keywords->get(), "stream", number.get()) != 0)
      return nullptr;
  }
  PyObject* capsule = PyObject_Call(method.get(), none.get(), newest.get());
  if (capsule != nullptr || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return capsule;
  PyErr_Clear();
  return PyObject_Call(method.get(), none.get(), older.get());
}

/// Stores the device of an array with `__dlpack__`, unless the array does not tell. On failure, sets a Python exception and returns false.
bool DeviceOf(PyObject* array, dlpack::Device* device) {
  if (PyObject_HasAttrString(array, "__dlpack_device__") == 0) return true;
  Ref told(PyObject_CallMethod(array, "__dlpack_device__", nullptr));
  Ref pair(told ? PySequence_Tuple(told.get()) : nullptr);
  Ref kind(pair ? PyNumber_Index(PyTuple_GetItem(pair.get(), 0)) : nullptr);
  Ref number(kind ? PyNumber_Index(PyTuple_GetItem(pair.get(), 1)) : nullptr);
  if (!number) return false;
  device->kind = static_cast<int32_t>(PyLong_AsLong(kind.get()));
  device->number = static_cast<int32_t>(PyLong_AsLong(number.get()));
  return PyErr_Occurred() == nullptr;
}

/// Raises an exception for a tensor of PyTorch whose elements have the other sign than those in memory, which its `__dlpack__` does not
/// tell. Returns whether it is one.
bool RefuseNegated(PyObject* array, const char* name) {
  if (!IsNegated(array)) return false;
  PyErr_Format(PyExc_ValueError, "'%s' has the other sign than its memory; pass %s.resolve_neg()",
               name, name);
  return true;
}

/// Raises an exception for a masked array of NumPy, whose mask a kernel would ignore. Returns whether it is one.
bool RefuseMasked(PyObject* array, const char* name) {
  if (PyObject_HasAttrString(array, "mask") == 0 || PyObject_HasAttrString(array, "filled") == 0)
    return false;
  PyErr_Format(PyExc_TypeError,
               "'%s' is a masked array, and kernels know no masks; pass %s.filled(VALUE)", name,
               name);
  return true;
}

/// Raises ArgumentError for an array in the memory of a GPU that kernels at the place cannot use.
bool RefuseGpu(const char* name, int ordinal, const ArrayPlace& place) {
  std::string message =
      place.is_cuda ? runtime::Concat("'", name, "' is in the memory of cuda:", ordinal,
                                      ", but the kernel runs on ", place.uri,
                                      "; compile it with device='cuda[", ordinal, "]', or copy '",
                                      name, "' to cuda:", place.ordinal)
                    : runtime::Concat(
                          "'", name, "' is in the memory of cuda:", ordinal,
                          ", but the kernel runs on ", place.uri, "; compile it with device='cuda",
                          ordinal == 0 ? "" : "[", ordinal == 0 ? "" : std::to_string(ordinal),
                          ordinal == 0 ? "" : "]", "', or pass a copy in the host's memory");
  return Succeeded(kdl_error_create(KDL_ERROR_INVALID_ARGUMENT, message.c_str()));
}

}  // namespace

TensorArgument::~TensorArgument() {
  if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  Py_XDECREF(owner_);
}

bool TensorArgument::IsArray(PyObject* object) {
  return PyObject_CheckBuffer(object) != 0 || PyObject_HasAttrString(object, "__dlpack__") != 0 ||
         PyObject_HasAttrString(object, kCudaArray) != 0;
}

bool TensorArgument::Open(PyObject* array, const char* name, const ArrayPlace* place) {
  if (OpenNumpy(array)) return true;
  if (const ExchangeApi* api = FindExchange(array)) return OpenExchange(array, *api, name, place);
  if (PyObject_CheckBuffer(array) != 0)
    return !RefuseMasked(array, name) && OpenBuffer(array, name);
  if (PyObject_HasAttrString(array, "__dlpack__") != 0) return OpenDlpack(array, name, place);
  if (PyObject_HasAttrString(array, kCudaArray) != 0) return OpenCudaArray(array, name, place);
  if (array == Py_None) {
    PyErr_Format(PyExc_TypeError,
                 "'%s' must be an array, not None; only optional parameters may be None, and "
                 "outputs may be left out",
                 name);
    return false;
  }
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
    const std::string_view format = buffer_.format == nullptr ? "" : buffer_.format;
    const bool is_swapped = format.starts_with('>') || format.starts_with('!');
    PyErr_Format(PyExc_TypeError,
                 is_swapped
                     ? "'%s': the bytes of elements of format '%s' are in the order of other "
                       "processors; pass a copy: %s.astype(%s.dtype.newbyteorder('='))"
                     : "'%s': kernels do not know elements of format '%s'",
                 name, buffer_.format, name, name);
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
                   "'%s': the stride of axis %d is %zd bytes, which is not a multiple of the "
                   "element size %zd; pass a copy",
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

bool TensorArgument::SetPlace(const dlpack::Device& device, const char* name,
                              const ArrayPlace* place) {
  is_on_device_ = device.kind == dlpack::kCuda || device.kind == dlpack::kCudaManaged;
  if (!is_on_device_ || place == nullptr) return true;
  return (place->is_cuda && place->ordinal == device.number) ||
         RefuseGpu(name, device.number, *place);
}

bool TensorArgument::OpenExchange(PyObject* array, const ExchangeApi& api, const char* name,
                                  const ArrayPlace* place) {
  if (RefuseNegated(array, name)) return false;
  dlpack::Tensor tensor = {};
  if (api.tensor_from_object(array, &tensor) != 0) {
    PyErr_Clear();  // the message of `__dlpack__` is for users
    return OpenDlpack(array, name, place);
  }
  if (!SetPlace(tensor.device, name, place)) return false;
  void* stream = nullptr;
  if (is_on_device_ && place != nullptr && api.current_stream != nullptr) {
    if (api.current_stream(tensor.device.kind, tensor.device.number, &stream) != 0) return false;
    stream_ = stream == nullptr ? kDefaultStream
                                : static_cast<long long>(reinterpret_cast<intptr_t>(stream));
  }
  Py_INCREF(array);
  owner_ = array;
  return TakeView(tensor, name);
}

bool TensorArgument::TakeView(const dlpack::Tensor& tensor, const char* name) {
  runtime::Error error = is_on_device_ ? dlpack::ViewAnywhere(tensor, name, &view_)
                                       : dlpack::ViewOf(tensor, name, &view_);
  return Succeeded(error.release());
}

bool TensorArgument::OpenDlpack(PyObject* array, const char* name, const ArrayPlace* place) {
  if (RefuseNegated(array, name)) return false;
  dlpack::Device device = {};
  if (!DeviceOf(array, &device) || !SetPlace(device, name, place)) return false;
  constexpr long long kNoOrder = -1;
  owner_ = CallDlpack(array, is_on_device_, place == nullptr ? kNoOrder : place->stream);
  if (owner_ == nullptr) return false;
  if (is_on_device_ && place != nullptr) stream_ = place->stream;
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
  return TakeView(*tensor, name);
}

/// Raises TypeError for a field of `__cuda_array_interface__`. Returns false.
bool RefuseField(const char* name, const char* field, const char* wanted) {
  PyErr_Format(PyExc_TypeError, "'%s': the field '%s' of %s must be %s", name, field, kCudaArray,
               wanted);
  return false;
}

/// Whether the object is a tuple of integers.
bool IsIntegers(PyObject* object) {
  if (PyTuple_Check(object) == 0) return false;
  for (Py_ssize_t n = 0; n < PyTuple_Size(object); ++n)
    if (PyIndex_Check(PyTuple_GetItem(object, n)) == 0) return false;
  return true;
}

bool HasValue(PyObject* field) { return field != nullptr && field != Py_None; }

/// Opens an array with `__cuda_array_interface__`, version 3 or older.
bool TensorArgument::OpenCudaArray(PyObject* array, const char* name, const ArrayPlace* place) {
  Ref fields(PyObject_GetAttrString(array, kCudaArray));
  if (!fields) return false;
  if (PyDict_Check(fields.get()) == 0) {
    PyErr_Format(PyExc_TypeError, "'%s': %s must be a dictionary", name, kCudaArray);
    return false;
  }
  PyObject* data = PyDict_GetItemString(fields.get(), "data");  // borrowed, as all fields
  PyObject* shape = PyDict_GetItemString(fields.get(), "shape");
  PyObject* type = PyDict_GetItemString(fields.get(), "typestr");
  PyObject* strides = PyDict_GetItemString(fields.get(), "strides");
  PyObject* stream = PyDict_GetItemString(fields.get(), "stream");
  PyObject* address = nullptr;
  int is_read_only = 0;
  if (data == nullptr || shape == nullptr || type == nullptr) {
    PyErr_Format(PyExc_TypeError, "'%s': __cuda_array_interface__ lacks data, shape or typestr",
                 name);
    return false;
  }
  if (PyTuple_Check(data) == 0 || PyTuple_Size(data) != 2 ||
      PyLong_Check(PyTuple_GetItem(data, 0)) == 0 ||
      PyArg_ParseTuple(data, "Op", &address, &is_read_only) == 0)
    return RefuseField(name, "data", "a tuple of an address and a bool");
  if (!IsIntegers(shape)) return RefuseField(name, "shape", "a tuple of integers");
  if (PyUnicode_Check(type) == 0) return RefuseField(name, "typestr", "a text such as '<f4'");
  if (HasValue(strides) && (!IsIntegers(strides) || PyTuple_Size(strides) != PyTuple_Size(shape)))
    return RefuseField(name, "strides", "None or a tuple of as many integers as the shape");
  if (HasValue(stream) && PyIndex_Check(stream) == 0)
    return RefuseField(name, "stream", "None or an integer");
  if (place != nullptr && !place->is_cuda) return RefuseGpu(name, 0, *place);
  const char* text = PyUnicode_AsUTF8AndSize(type, nullptr);
  if (text == nullptr) return false;
  const std::optional<uint8_t> element = ElementOfTypestr(text);
  if (!element) {
    PyErr_Format(PyExc_TypeError, "'%s': kernels do not know elements of type '%s'", name, text);
    return false;
  }
  is_on_device_ = true;
  is_read_only_ = is_read_only != 0;
  view_.data = PyLong_AsVoidPtr(address);
  view_.element = *element;
  view_.element_bits = runtime::FactsOfElement(*element)->bits;
  if (PyErr_Occurred() != nullptr || !SetShape(static_cast<int32_t>(PyTuple_Size(shape)), name))
    return false;
  int64_t row_major = 1;
  for (int32_t d = view_.rank - 1; d >= 0; --d) {
    view_.size[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
    view_.stride[d] = row_major;
    row_major *= view_.size[d];
    if (!HasValue(strides)) continue;
    const long long bytes = PyLong_AsLongLong(PyTuple_GetItem(strides, d));
    view_.stride[d] = bytes / (view_.element_bits / 8);
    if (bytes % (view_.element_bits / 8) == 0 || view_.size[d] <= 1) continue;
    PyErr_Format(PyExc_ValueError,
                 "'%s': the stride of axis %d is %lld bytes, which is not a multiple of the "
                 "element size; pass a copy",
                 name, d, bytes);
    return false;
  }
  if (HasValue(stream)) stream_ = PyLong_AsLongLong(stream);
  if (PyErr_Occurred() != nullptr) return false;
  Py_INCREF(array);
  owner_ = array;
  return true;
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
