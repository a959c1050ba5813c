#include "interp/tensor_memory.h"

#include <cstring>

namespace kdl::interp {

namespace {

/// Loads a number whose size in bytes is known at compile time.
template <class T>
uint64_t Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

}  // namespace

uint64_t ReadElement(const std::byte* from, Scalar scalar) {
  if (scalar == Scalar::Bool) return Load<uint8_t>(from) != 0 ? 1 : 0;
  switch (Bytes(scalar)) {
    case 1:
      return Load<uint8_t>(from);
    case 2:
      return Load<uint16_t>(from);
    case 4:
      return Load<uint32_t>(from);
    default:
      return Load<uint64_t>(from);
  }
}

void WriteElement(std::byte* to, Scalar scalar, uint64_t bits) {
  std::memcpy(to, &bits, static_cast<size_t>(Bytes(scalar)));
}

std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) {
    strides[i - 1] =
        static_cast<int64_t>(static_cast<uint64_t>(strides[i]) * static_cast<uint64_t>(sizes[i]));
  }
  return strides;
}

size_t SpannedElements(const TensorValue& tensor) {
  size_t span = 1;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (tensor.sizes[d] == 0) return 0;
    span += static_cast<size_t>(tensor.sizes[d] - 1) * static_cast<size_t>(tensor.strides[d]);
  }
  return span;
}

}  // namespace kdl::interp
