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

struct CudaKernel {
  cu::FunctionId function = nullptr;
  std::int64_t workgroup_bytes = 0;  // workgroup memory that each launch requests
  int threads = 0;                   // number of threads in a workgroup
  int resident = 1;                  // number of workgroups that fit on a multiprocessor at once
  std::vector<MapNeed> maps;
  bool may_trap = true;
};

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
// Returns the number of cores for launches that state none: as many as run at once. Each of them then computes
// its share of the blocks without waiting for another core to end. A multiprocessor has room for one core of
// a product that keeps its sums in registers and its factors in workgroup memory, and for up to 32 cores of a
// kernel that needs little of both. Returns 0 if the kernel cannot be found; its launch tells why.
std::int64_t CudaCoresOf(void* device, void* module, const kdl_variant* variant);

}  // namespace kdl::runtime
