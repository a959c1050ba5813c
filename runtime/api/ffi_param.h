// Arguments of the TVM FFI, compared with those of an earlier call. Everything is inline, because it is a part of each call.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/dlpack.h"
#include "kdl/ffi.h"
#include "kdl/kernel_abi.h"

namespace kdl::runtime {

// Values of TVMFFITypeIndex.
enum FfiType : std::int32_t {
  kFfiNone = 0,
  kFfiInteger = 1,
  kFfiBool = 2,
  kFfiFloat = 3,
  kFfiTensorPointer = 7,
  kFfiTensorObject = 70
};

// Returns the tensor of an argument, or null if it is none.
inline const dlpack::Tensor* TensorOf(const kdl_ffi_any& any) {
  // A tensor object starts with a header of this size, TVMFFIObject.
  constexpr std::size_t kObjectHeader = 24;
  if (any.type == kFfiTensorPointer) return static_cast<const dlpack::Tensor*>(any.value.pointer);
  if (any.type != kFfiTensorObject) return nullptr;
  return reinterpret_cast<const dlpack::Tensor*>(static_cast<const char*>(any.value.pointer) +
                                                 kObjectHeader);
}

// A parameter, to compare arguments with values that were passed for it earlier.
class FfiParam {
 public:
  FfiParam() = default;
  explicit FfiParam(const kdl_param_desc& param);

  std::int32_t rank() const { return type_.rank; }
  // Whether the argument is a row-major tensor at the address `value` with these sizes, or the number with these bits. May be false for
  // a number that needs a conversion.
  bool IsEqual(const kdl_ffi_any& any, std::uint64_t value, const std::int64_t* sizes) const;

 private:
  enum class Kind : std::int32_t { kTensor, kFloat32, kFloat64, kSigned, kUnsigned, kBool, kOther };
  // The fields of a tensor that follow its device.
  struct TensorType {
    std::int32_t rank;
    dlpack::Type element;
  };

  bool IsTensor(const kdl_ffi_any& any, std::uint64_t address, const std::int64_t* sizes) const;

  TensorType type_ = {};
  Kind kind_ = Kind::kOther;
  std::int32_t unused_bits_ = 0;  // of 64
};

inline bool FfiParam::IsTensor(const kdl_ffi_any& any, std::uint64_t address,
                               const std::int64_t* sizes) const {
  const dlpack::Tensor* tensor = TensorOf(any);
  if (tensor == nullptr || tensor->device.kind != dlpack::kCpu ||
      std::memcmp(&tensor->rank, &type_, sizeof type_) != 0)
    return false;
  std::uint64_t differs =
      (reinterpret_cast<std::uintptr_t>(tensor->data) + tensor->byte_offset) ^ address;
  std::uint64_t row_major = 1;
  for (std::int32_t d = type_.rank - 1; d >= 0; --d) {
    const std::int64_t size = sizes[d];
    differs |= static_cast<std::uint64_t>(tensor->shape[d] ^ size);
    if (tensor->strides != nullptr && size != 1)
      differs |= static_cast<std::uint64_t>(tensor->strides[d]) ^ row_major;
    row_major *= static_cast<std::uint64_t>(size);
  }
  return differs == 0;
}

inline bool FfiParam::IsEqual(const kdl_ffi_any& any, std::uint64_t value,
                              const std::int64_t* sizes) const {
  const std::int64_t integer = any.value.integer;
  if (kind_ == Kind::kTensor) return IsTensor(any, value, sizes);
  switch (kind_) {
    case Kind::kFloat32:
      return any.type == kFfiFloat &&
             std::bit_cast<std::uint32_t>(static_cast<float>(any.value.number)) == value;
    case Kind::kFloat64:
      return any.type == kFfiFloat && static_cast<std::uint64_t>(integer) == value;
    case Kind::kSigned:
      return any.type == kFfiInteger &&
             static_cast<std::int64_t>(value << unused_bits_) >> unused_bits_ == integer;
    case Kind::kUnsigned:
      return any.type == kFfiInteger && integer >= 0 &&
             static_cast<std::uint64_t>(integer) == value;
    case Kind::kBool:
      return any.type == kFfiBool && static_cast<std::uint64_t>(integer != 0) == value;
    case Kind::kTensor:
    case Kind::kOther:
      break;
  }
  return false;
}

}  // namespace kdl::runtime
