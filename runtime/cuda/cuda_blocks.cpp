#include "cuda/cuda_blocks.h"

#include "core/view.h"
#include "kdl/workgroup_abi.h"

namespace kdl::runtime {

void LaunchMaps::Make(const cu::Api& api, const CudaKernel& kernel, const kdl_args& args) {
  maps.resize(kernel.maps.size());
  made.clear();
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const MapNeed& need = kernel.maps[i];
    const kdl_tensor& tensor = args.tensors[need.tensor];
    const auto bytes = static_cast<std::int64_t>(ElementBytes(tensor));
    made.push_back(cache.Find(api, need, tensor, bytes, &maps[i]) ? 1 : 0);
  }
}

cu::Status LaunchBlocks(const cu::Api& api, const CudaKernel& kernel,
                        std::span<const std::int64_t> numbers, std::span<void* const> memories,
                        const LaunchMaps& maps, std::int64_t cores, cu::StreamId stream,
                        PassedArguments* passed) {
  // The numbers are passed by value. The tensor maps are the last arguments.
  passed->numbers.assign(numbers.begin(), numbers.end());
  passed->numbers.insert(passed->numbers.end(), maps.made.begin(), maps.made.end());
  passed->addresses.clear();
  passed->addresses.push_back(passed->numbers.data());
  for (void* const& memory : memories) passed->addresses.push_back(const_cast<void**>(&memory));
  for (const TensorMap& map : maps.maps) passed->addresses.push_back(const_cast<TensorMap*>(&map));
  cu::LaunchConfig config;
  config.blocks[0] = static_cast<unsigned>(cores);
  config.threads[0] = static_cast<unsigned>(kernel.threads);
  const WorkgroupNeed& need = NeedOf(kernel, numbers.data() + kdl_workgroup_header);
  config.workgroup_bytes = static_cast<unsigned>(need.workgroup_bytes);
  config.stream = stream;
  return api.LaunchKernelEx(&config, kernel.function, passed->addresses.data(), nullptr);
}

}  // namespace kdl::runtime
