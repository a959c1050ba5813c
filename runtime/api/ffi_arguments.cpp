#include "api/ffi_arguments.h"

#include <bit>

namespace kdl::runtime {

namespace {

bool IsRowMajor(const dlpack::Tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t wanted = 1;
  for (std::int32_t d = tensor.rank - 1; d >= 0; --d) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != wanted) return false;
    if (__builtin_mul_overflow(wanted, tensor.shape[d], &wanted)) return false;
  }
  return true;
}

bool TakeNumber(const kdl_param_desc& param, const kdl_ffi_any& any, kdl_value* value) {
  if (any.type == kFfiFloat && param.element == KDL_F32) {
    value->u64 = std::bit_cast<std::uint32_t>(static_cast<float>(any.value.number));
    return true;
  }
  const bool fits = (any.type == kFfiFloat && param.element == KDL_F64) ||
                    (any.type == kFfiInteger && param.element == KDL_I64);
  value->u64 = static_cast<std::uint64_t>(any.value.integer);  // or the bits of a double
  return fits;
}

}  // namespace

bool FfiArguments::TakeTensor(const kdl_param_desc& param, const dlpack::Tensor* tensor) {
  if (tensor == nullptr || tensor->device.kind != dlpack::kCpu || tensor->rank != param.rank ||
      dlpack::ElementOf(tensor->type) != param.element || !IsRowMajor(*tensor))
    return false;
  for (std::int32_t d = 0; d < param.rank; ++d) {
    const bool is_fixed = param.dim_symbol[d] == KDL_DIM_CONST;
    if (is_fixed && tensor->shape[d] != param.dim_const[d]) return false;
    sizes_.Add(tensor->shape[d]);
  }
  values_.Add().data = static_cast<char*>(tensor->data) + tensor->byte_offset;
  return true;
}

bool FfiArguments::Take(const kdl_variant& variant, const kdl_ffi_any* args,
                        std::int32_t arg_count) {
  if (arg_count != variant.param_count) return false;
  sizes_.Reserve(static_cast<std::size_t>(arg_count) * KDL_MAX_RANK);
  values_.Reserve(static_cast<std::size_t>(arg_count));
  for (std::int32_t p = 0; p < arg_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    const bool taken = param.is_tensor != 0 ? TakeTensor(param, TensorOf(args[p]))
                                            : TakeNumber(param, args[p], &values_.Add());
    if (!taken) return false;
  }
  return true;
}

}  // namespace kdl::runtime
