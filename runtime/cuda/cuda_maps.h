// Tensor maps, with which kernels copy tensor tiles to shared memory (kdl/workgroup_abi.h).
#pragma once

#include <array>
#include <cstdint>

#include "cuda/cuda_api.h"
#include "kdl/kernel_abi.h"

namespace kdl::runtime {

// A kernel's description of a map.
struct MapNeed {
  std::int64_t tensor;  // index among the kernel's tensors
  std::int64_t row_dimension;
  std::int64_t rows;   // rows of a tensor tile
  std::int64_t panel;  // elements in a row
  std::int64_t swizzle;
};

// A map in the form in which a launch passes it.
struct alignas(64) TensorMap {
  std::array<std::uint64_t, 16> bits;
};

// Creates the map. Returns false if the tensor's memory does not meet the requirements, or the driver has no
// maps. The kernel then copies in another way.
bool MakeMap(const cu::Api& api, const MapNeed& need, const kdl_tensor& tensor,
             std::int64_t element_bytes, TensorMap* map);

}  // namespace kdl::runtime
