#pragma once

#include <cstdint>

#include "extension/dlpack_exchange.h"
#include "extension/python.h"
#include "kdl/tensor.h"

namespace kdl::python {

/// DLPack's number for CUDA's default stream.
constexpr long long kDefaultStream = 1;

/// Where the kernels run that use arrays.
struct ArrayPlace {
  bool is_cuda = false;
  int ordinal = 0;       ///< of the GPU
  const char* uri = "";  ///< of the device
  /// The stream that the producer of an array on a GPU has to order after its work, by DLPack's numbers.
  long long stream = kDefaultStream;
};

/// The memory of a Python array, for as long as this object exists. Arrays are NumPy arrays and everything else
/// with the buffer protocol, and objects with `__dlpack__` or `__cuda_array_interface__`. Nothing is copied.
class TensorArgument {
 public:
  TensorArgument() = default;
  ~TensorArgument();
  TensorArgument(const TensorArgument&) = delete;
  TensorArgument& operator=(const TensorArgument&) = delete;

  /// Opens the memory of `array` for kernels at this place; if it is null, only for the array's type and shape. On failure,
  /// sets a Python exception that says what parameter `name` needs, and returns false.
  bool Open(PyObject* array, const char* name, const ArrayPlace* place);

  /// Whether the object offers its memory, so that `Open` may succeed.
  static bool IsArray(PyObject* object);

  const kdl_tensor& view() const { return view_; }
  bool is_read_only() const { return is_read_only_; }
  /// Whether the memory is that of a GPU.
  bool is_on_device() const { return is_on_device_; }
  /// A stream whose present work kernels must follow, or 0.
  long long stream() const { return stream_; }

 private:
  /// Opens a NumPy array whose element type is known from earlier arrays, or returns false without an
  /// exception.
  bool OpenNumpy(PyObject* array);
  bool OpenBuffer(PyObject* array, const char* name);
  bool OpenDlpack(PyObject* array, const char* name, const ArrayPlace* place);
  /// Opens an array whose type has DLPack's C exchange interface.
  bool OpenExchange(PyObject* array, const ExchangeApi& api, const char* name,
                    const ArrayPlace* place);
  /// Notes in which memory an array is. Fails if kernels at the place cannot use it.
  bool SetPlace(const runtime::dlpack::Device& device, const char* name, const ArrayPlace* place);
  bool OpenCudaArray(PyObject* array, const char* name, const ArrayPlace* place);
  bool TakeView(const runtime::dlpack::Tensor& tensor, const char* name);
  bool SetShape(int32_t rank, const char* name);
  void SetRowMajor();

  kdl_tensor view_ = {};
  bool is_read_only_ = false;
  bool is_on_device_ = false;
  long long stream_ = 0;
  Py_buffer buffer_ = {};
  PyObject* owner_ = nullptr;  ///< a NumPy array or a capsule
};

}  // namespace kdl::python
