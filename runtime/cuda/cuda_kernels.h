// Modules of a device, and their kernels. The driver compiles a module from the PTX of an image.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cuda/cuda_context.h"
#include "cuda/cuda_maps.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// A condition on a launch: its size number `size` is in `least` .. `most`, both included.
struct SizeRange {
  std::int64_t size;
  std::int64_t least;
  std::int64_t most;
};

// What launches whose sizes are in the ranges request.
struct WorkgroupNeed {
  std::int64_t workgroup_bytes = 0;  // workgroup memory
  std::vector<SizeRange> ranges = {};
  int resident = 1;  // number of such workgroups that fit on a multiprocessor at once
};

struct CudaKernel {
  cu::FunctionId function = nullptr;
  int threads = 0;  // number of threads in a workgroup
  // The one with the most memory first. The last one has no ranges.
  std::vector<WorkgroupNeed> needs = {{}};
  std::vector<MapNeed> maps;
  bool may_trap = true;
};

// Returns the need of a launch with these sizes.
const WorkgroupNeed& NeedOf(const CudaKernel& kernel, const std::int64_t* sizes);

struct CudaModule {
  cu::ModuleId id = nullptr;
  std::string_view text;  // the PTX, which the image owns
  std::mutex mutex;       // guards the members below
  std::unordered_map<const kdl_variant*, CudaKernel> kernels;
};

kdl_error* LoadCudaModule(void* device, const kdl_image* image, void** module);
void UnloadCudaModule(void* device, void* module);
// Looks up a kernel. The result is kept in the module.
Error FindCudaKernel(CudaDevice& cuda, CudaModule& module, const kdl_variant& variant,
                     const CudaKernel** kernel);
// Returns the number of cores for a launch that states none: as many as run at once. Each of them then computes
// its share of the blocks without waiting for another core to end. A multiprocessor has room for one core of
// a product that keeps its sums in registers and its factors in workgroup memory, and for up to 32 cores of a
// kernel that needs little of both. Returns 0 if the kernel cannot be found; its launch tells why.
std::int64_t CudaCoresOf(void* device, void* module, const kdl_variant* variant,
                         const kdl_args* args);

}  // namespace kdl::runtime
