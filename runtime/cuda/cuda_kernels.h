// Modules of a device, and their kernels. The driver compiles a module from the PTX of an image.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/cuda_context.h"
#include "cuda/cuda_maps.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

struct CudaKernel {
  cu::FunctionId function = nullptr;
  std::int64_t workgroup_bytes = 0;  // workgroup memory that each launch requests
  int threads = 0;                   // number of threads in a workgroup
  std::vector<MapNeed> maps;
};

struct CudaModule {
  cu::ModuleId id = nullptr;
  std::mutex mutex;  // guards the members below
  std::map<std::string, CudaKernel> kernels;
};

kdl_error* LoadCudaModule(void* device, const kdl_image* image, void** module);
void UnloadCudaModule(void* device, void* module);
// Looks up a kernel. The result is kept in the module.
Error FindCudaKernel(CudaDevice& cuda, const CudaWork& work, CudaModule& module, const char* name,
                     const CudaKernel** kernel);

}  // namespace kdl::runtime
