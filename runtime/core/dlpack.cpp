#include "core/dlpack.h"

#include "core/element.h"

namespace kdl::runtime::dlpack {

std::optional<std::uint8_t> ElementOf(Type type) {
  if (type.lanes != 1) return std::nullopt;
  switch (type.code) {
    case TypeCode::Int:
      return IntegerElement(true, type.bits);
    case TypeCode::Uint:
      return IntegerElement(false, type.bits);
    case TypeCode::Float:
      if (type.bits == 16) return KDL_F16;
      if (type.bits == 32) return KDL_F32;
      if (type.bits == 64) return KDL_F64;
      return std::nullopt;
    case TypeCode::Bfloat:
      return type.bits == 16 ? std::optional<std::uint8_t>(KDL_BF16) : std::nullopt;
    case TypeCode::Bool:
      return type.bits == 8 ? std::optional<std::uint8_t>(KDL_BOOL) : std::nullopt;
    case TypeCode::Float8E4M3FN:
      return KDL_F8E4M3;
    case TypeCode::Float8E5M2:
      return KDL_F8E5M2;
    case TypeCode::Float8E8M0FNU:
      return KDL_F8E8M0;
  }
  return std::nullopt;
}

Type TypeOf(std::uint8_t element) {
  const ElementFacts& facts = *FactsOfElement(element);
  const auto of_code = [&](TypeCode code) {
    return Type{code, static_cast<std::uint8_t>(facts.bits), 1};
  };
  switch (element) {
    case KDL_BF16:
      return of_code(TypeCode::Bfloat);
    case KDL_F8E4M3:
      return of_code(TypeCode::Float8E4M3FN);
    case KDL_F8E5M2:
      return of_code(TypeCode::Float8E5M2);
    case KDL_F8E8M0:
      return of_code(TypeCode::Float8E8M0FNU);
    default:
      break;
  }
  switch (facts.group) {
    case ElementGroup::Bool:
      return of_code(TypeCode::Bool);
    case ElementGroup::Signed:
      return of_code(TypeCode::Int);
    case ElementGroup::Unsigned:
      return of_code(TypeCode::Uint);
    case ElementGroup::Float:
      break;
  }
  return of_code(TypeCode::Float);
}

Error ViewOf(const Tensor& tensor, std::string_view name, kdl_tensor* view) {
  if (tensor.device.kind != kCpu && tensor.device.kind != kCudaHost) {
    return Invalid("'", name,
                   "' is in the memory of another device; pass a copy in the host's memory");
  }
  return ViewAnywhere(tensor, name, view);
}

Error ViewAnywhere(const Tensor& tensor, std::string_view name, kdl_tensor* view) {
  const std::optional<std::uint8_t> element = ElementOf(tensor.type);
  if (!element) return Invalid("'", name, "': kernels do not know the element type of this array");
  if (tensor.rank < 0 || tensor.rank > KDL_MAX_RANK) {
    return Invalid("'", name, "' has ", tensor.rank, " dimensions; kernels support at most ",
                   KDL_MAX_RANK);
  }
  *view = {};
  view->data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view->element = *element;
  view->element_bits = tensor.type.bits;
  view->rank = tensor.rank;
  view->layout = KDL_LAYOUT_STRIDED;
  std::int64_t row_major = 1;
  for (std::int32_t d = KDL_MAX_RANK - 1; d >= 0; --d) {
    const bool exists = d < tensor.rank;
    view->size[d] = exists ? tensor.shape[d] : 1;
    if (!exists) continue;
    view->stride[d] = tensor.strides == nullptr ? row_major : tensor.strides[d];
    // A tensor whose size overflows is refused later, when its bytes are counted.
    if (__builtin_mul_overflow(row_major, tensor.shape[d], &row_major)) row_major = 0;
  }
  return nullptr;
}

}  // namespace kdl::runtime::dlpack
