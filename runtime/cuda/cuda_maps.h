// Maps of tensors, by which kernels copy boxes of them to shared memory (kdl/workgroup_abi.h).
#pragma once

#include <array>
#include <cstdint>

#include "cuda/cuda_api.h"
#include "kdl/kernel_abi.h"

namespace kdl::runtime {

// What a kernel says of a map.
struct MapNeed {
  std::int64_t tensor;  // of the kernel's tensors the number
  std::int64_t row_dimension;
  std::int64_t rows;   // of a box
  std::int64_t panel;  // elements of its rows
  std::int64_t swizzle;
};

// As a launch takes it.
struct alignas(64) TensorMap {
  std::array<std::uint64_t, 16> bits;
};

// Makes the map. False: the tensor's memory is not as maps want it, or the driver knows none; the kernel goes another way.
bool MakeMap(const cu::Api& api, const MapNeed& need, const kdl_tensor& tensor,
             std::int64_t element_bytes, TensorMap* map);

}  // namespace kdl::runtime
