// Tensor maps. With them, kernels copy tensor tiles to workgroup memory (see kdl/workgroup_abi.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/cuda_api.h"
#include "kdl/kernel_abi.h"

namespace kdl::runtime {

// A tensor map that a kernel needs.
struct MapNeed {
  std::int64_t tensor;  // index among the kernel's tensors
  std::int64_t row_dimension;
  std::int64_t rows;   // number of rows in a tensor tile
  std::int64_t panel;  // number of elements in a row
  std::int64_t swizzle;
};

// A tensor map in the form in which it is passed to a launch.
struct alignas(64) TensorMap {
  std::array<std::uint64_t, 16> bits;
};

// Creates the map. Returns false if the tensor's memory does not meet the requirements, or if the driver does
// not support maps. In these cases, the kernel copies without a tensor map.
bool MakeMap(const cu::Api& api, const MapNeed& need, const kdl_tensor& tensor,
             std::int64_t element_bytes, TensorMap* map);

// The tensor maps of earlier launches. Programs launch the same kernels on the same tensors again, and the driver
// takes longer to make a map than to launch a kernel.
class MapCache {
 public:
  // Returns the map in `map`, and whether it is valid, like MakeMap.
  bool Find(const cu::Api& api, const MapNeed& need, const kdl_tensor& tensor,
            std::int64_t element_bytes, TensorMap* map);

 private:
  struct Known {
    const MapNeed* need = nullptr;
    kdl_tensor tensor = {};
    TensorMap map = {};
    bool is_valid = false;
  };

  std::vector<Known> known_;
  std::size_t oldest_ = 0;  // the next one to replace
};

}  // namespace kdl::runtime
