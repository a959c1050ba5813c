#pragma once

#include <cstdint>

#include "extension/python.h"
#include "kdl/tensor.h"

namespace kdl::python {

/// The memory of a Python array, for as long as this object exists. Arrays are NumPy arrays and everything else
/// with the buffer protocol, or objects with `__dlpack__` in the host's memory. Nothing is copied.
class TensorArgument {
 public:
  TensorArgument() = default;
  ~TensorArgument();
  TensorArgument(const TensorArgument&) = delete;
  TensorArgument& operator=(const TensorArgument&) = delete;

  /// Opens the memory of `array`. On failure, sets a Python exception that says what parameter `name` needs,
  /// and returns false.
  bool Open(PyObject* array, const char* name);

  /// Whether the object offers its memory, so that `Open` may succeed.
  static bool IsArray(PyObject* object);

  const kdl_tensor& view() const { return view_; }
  bool is_read_only() const { return is_read_only_; }

 private:
  /// Opens a NumPy array whose element type is known from earlier arrays, or returns false without an
  /// exception.
  bool OpenNumpy(PyObject* array);
  bool OpenBuffer(PyObject* array, const char* name);
  bool OpenDlpack(PyObject* array, const char* name);
  bool SetShape(int32_t rank, const char* name);
  void SetRowMajor();

  kdl_tensor view_ = {};
  bool is_read_only_ = false;
  Py_buffer buffer_ = {};
  PyObject* owner_ = nullptr;  ///< a NumPy array or a capsule
};

}  // namespace kdl::python
