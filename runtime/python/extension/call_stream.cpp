#include "extension/call_stream.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace kdl::python {

namespace {

/// Stores the handle of a stream: an integer, or an object of PyTorch, CuPy or cuda.core. On failure, sets a Python exception and
/// returns false.
bool FindHandle(PyObject* stream, long long* handle) {
  Ref number;
  if (PyIndex_Check(stream) != 0) {
    number = Ref(PyNumber_Index(stream));
  } else if (PyObject_HasAttrString(stream, "__cuda_stream__") != 0) {
    Ref pair(PyObject_CallMethod(stream, "__cuda_stream__", nullptr));
    number = Ref(pair ? PySequence_GetItem(pair.get(), 1) : nullptr);
  } else {
    for (const char* attribute : {"cuda_stream", "ptr", "handle"}) {
      if (number || PyObject_HasAttrString(stream, attribute) == 0) continue;
      number = Ref(PyObject_GetAttrString(stream, attribute));
    }
    if (!number && PyErr_Occurred() == nullptr) {
      PyErr_Format(
          PyExc_TypeError,
          "stream must be the number of a CUDA stream, or a stream of PyTorch or CuPy, not %R",
          stream);
    }
  }
  if (!number) return false;
  *handle = PyLong_AsLongLong(number.get());
  if (*handle == 0) *handle = 1;
  return PyErr_Occurred() == nullptr;
}

/// The streams of recent calls. Each has a queue, so that calls in different streams can run at the same time. The interpreter's
/// lock protects them.
std::array<long long, 32> known_streams;
std::size_t next_stream = 0;
constexpr int32_t kFirstQueue = 32;  // those before are for queue() of kernels

int32_t QueueFor(long long handle) {
  auto found = std::ranges::find(known_streams, handle);
  if (found == known_streams.end()) {
    found = known_streams.begin() + static_cast<std::ptrdiff_t>(next_stream);
    *found = handle;
    next_stream = (next_stream + 1) % known_streams.size();
  }
  return kFirstQueue + static_cast<int32_t>(found - known_streams.begin());
}

}  // namespace

bool CallStream::TakeStreamArgument(const kdl_variant& variant, PyObject** keywords) {
  PyObject* given = *keywords == nullptr ? nullptr : PyDict_GetItemString(*keywords, "stream");
  if (given == nullptr) return true;
  for (int32_t p = 0; p < variant.param_count; ++p) {
    if (std::string_view(variant.params[p].name) == "stream") return true;
  }
  is_given_ = given != Py_None;
  others_ = Ref(PyDict_Copy(*keywords));
  if (!others_ || (is_given_ && !FindHandle(given, &handle_))) return false;
  if (is_given_) queue_ = QueueFor(handle_);
  *keywords = others_.get();
  return PyDict_DelItemString(others_.get(), "stream") == 0;
}

}  // namespace kdl::python
