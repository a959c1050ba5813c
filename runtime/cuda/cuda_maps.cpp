#include "cuda/cuda_maps.h"

#include <algorithm>
#include <cstddef>

namespace kdl::runtime {

namespace {

// Addresses and strides must be multiples of this number of bytes.
constexpr std::int64_t kAligned = 16;
constexpr std::int64_t kMostStride = std::int64_t{1} << 40;
constexpr std::int64_t kMostSize = (std::int64_t{1} << 31) - 1;  // coordinates have 32 bits
constexpr std::int64_t kMostBox = 256;
constexpr std::int64_t kMostRank = 5;

// Values of CU_TENSOR_MAP_… constants for a 128-byte swizzle and for promotion to 256 bytes. Elements are
// described as unsigned integers of the same width, since only their bits are copied.
constexpr int kSwizzle128 = 3;
constexpr int kPromotion256 = 3;

// Whether the tensor meets the requirements of a tensor map. The driver may refuse other tensors, or misread
// their values.
bool Suits(const MapNeed& need, const kdl_tensor& tensor, std::int64_t element_bytes) {
  if (tensor.rank < 2 || tensor.rank > kMostRank || need.rows > kMostBox) return false;
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % kAligned != 0) return false;
  for (std::int32_t d = 0; d < tensor.rank; ++d) {
    if (tensor.size[d] < 1 || tensor.size[d] > kMostSize) return false;
    if (d + 1 == tensor.rank) return tensor.stride[d] == 1;
    if (tensor.size[d] == 1) continue;  // the stride of this dimension is not used
    // The stride must be positive.
    const std::int64_t stride = tensor.stride[d];
    if (stride < 1 || stride > kMostStride / element_bytes) return false;
    const std::int64_t bytes = stride * element_bytes;
    if (bytes % kAligned != 0 || bytes >= kMostStride) return false;
  }
  return false;
}

bool IsSame(const kdl_tensor& a, const kdl_tensor& b) {
  return a.data == b.data && a.rank == b.rank && std::equal(a.size, a.size + a.rank, b.size) &&
         std::equal(a.stride, a.stride + a.rank, b.stride);
}

}  // namespace

bool MapCache::Find(const cu::Api& api, const MapNeed& need, const kdl_tensor& tensor,
                    std::int64_t element_bytes, TensorMap* map) {
  constexpr std::size_t kMost = 64;
  auto known = std::ranges::find_if(
      known_, [&](const Known& one) { return one.need == &need && IsSame(one.tensor, tensor); });
  if (known == known_.end()) {
    if (known_.size() < kMost) known_.emplace_back();
    known = known_.begin() + static_cast<std::ptrdiff_t>(oldest_);
    oldest_ = (oldest_ + 1) % kMost;
    *known = {&need, tensor, {}, false};
    known->is_valid = MakeMap(api, need, tensor, element_bytes, &known->map);
  }
  *map = known->map;
  return known->is_valid;
}

bool MakeMap(const cu::Api& api, const MapNeed& need, const kdl_tensor& tensor,
             std::int64_t element_bytes, TensorMap* map) {
  if (api.TensorMapEncodeTiled == nullptr || !Suits(need, tensor, element_bytes)) return false;
  // The driver expects the dimensions in order from the innermost to the outermost.
  const auto rank = static_cast<std::size_t>(tensor.rank);
  std::uint64_t sizes[kMostRank];
  std::uint64_t strides[kMostRank];  // strides of all dimensions but the innermost
  std::uint32_t box[kMostRank];
  std::uint32_t steps[kMostRank];
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = rank - 1 - i;
    sizes[i] = static_cast<std::uint64_t>(tensor.size[d]);
    const std::int64_t apart = tensor.size[d] == 1 ? kAligned : tensor.stride[d] * element_bytes;
    if (i > 0) strides[i - 1] = static_cast<std::uint64_t>(apart);
    box[i] = static_cast<std::int64_t>(d) == need.row_dimension
                 ? static_cast<std::uint32_t>(need.rows)
                 : 1;
    steps[i] = 1;
  }
  box[0] = static_cast<std::uint32_t>(need.panel);
  const int kind = element_bytes == 1 ? 0 : element_bytes == 2 ? 1 : 2;
  constexpr int kNone = 0;
  return api.TensorMapEncodeTiled(map, kind, static_cast<std::uint32_t>(rank), tensor.data, sizes,
                                  strides, box, steps, kNone, kSwizzle128, kPromotion256,
                                  kNone) == cu::kSuccess;
}

}  // namespace kdl::runtime
