// The driver's call that launches the blocks of a kernel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/cuda_kernels.h"
#include "cuda/cuda_maps.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// The tensor maps of a launch.
struct LaunchMaps {
  std::vector<TensorMap> maps;
  std::vector<std::int64_t> made;  // for each map, whether it is valid
  MapCache cache;

  void Make(const cu::Api& api, const CudaKernel& kernel, const kdl_args& args);
};

// What one call of the driver passes. It is kept for later calls, so that they need not allocate memory.
struct PassedArguments {
  std::vector<std::int64_t> numbers;
  std::vector<void*> addresses;
};

// Launches `cores` blocks. The driver copies all arguments before this returns.
cu::Status LaunchBlocks(const cu::Api& api, const CudaKernel& kernel,
                        std::span<const std::int64_t> numbers, std::span<void* const> memories,
                        const LaunchMaps& maps, std::int64_t cores, cu::StreamId stream,
                        PassedArguments* passed);

}  // namespace kdl::runtime
