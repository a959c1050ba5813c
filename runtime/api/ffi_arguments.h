// The usual arguments of a call through the TVM FFI.
#pragma once

#include <cstdint>

#include "api/ffi_param.h"
#include "core/binding.h"
#include "core/small_array.h"

namespace kdl::runtime {

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
