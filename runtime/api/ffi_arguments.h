// The usual arguments of a call through the TVM FFI.
#pragma once

#include <cstdint>

#include "core/binding.h"
#include "core/dlpack.h"
#include "core/small_array.h"
#include "kdl/ffi.h"

namespace kdl::runtime {

// Values of TVMFFITypeIndex.
enum FfiType : std::int32_t {
  kFfiInteger = 1,
  kFfiBool = 2,
  kFfiFloat = 3,
  kFfiTensorPointer = 7,
  kFfiTensorObject = 70
};

// Returns the tensor of an argument, or null if it is none.
const dlpack::Tensor* TensorOf(const kdl_ffi_any& any);

// Takes the arguments of a call without any message: row-major tensors in the host's memory with exactly the parameters' types, and
// numbers that need no conversion but the rounding to f32. For all others, the caller has to use a DynamicCall.
class FfiArguments {
 public:
  // Returns false if the arguments are not of this kind.
  bool Take(const kdl_variant& variant, const kdl_ffi_any* args, std::int32_t arg_count);
  // Valid for as long as this object.
  DenseArguments dense() const { return {sizes_.data(), values_.data(), KDL_CORES_AUTO}; }

 private:
  bool TakeTensor(const kdl_param_desc& param, const dlpack::Tensor* tensor);

  SmallArray<std::int64_t, 64> sizes_;
  SmallArray<kdl_value, 12> values_;
};

}  // namespace kdl::runtime
