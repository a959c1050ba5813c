// Modules of a device, compiled by its driver from the PTX of images, and their kernels.
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
  std::int64_t workgroup_bytes = 0;  // workgroup memory that a launch requests
  int threads = 0;                   // threads of a workgroup
  std::vector<MapNeed> maps;
};

struct CudaModule {
  cu::ModuleId id = nullptr;
  std::mutex mutex;  // guards the rest
  std::map<std::string, CudaKernel> kernels;
};

kdl_error* LoadCudaModule(void* device, const kdl_image* image, void** module);
void UnloadCudaModule(void* device, void* module);
// Looks a kernel up; the result is kept with its module.
Error FindCudaKernel(CudaDevice& cuda, const CudaWork& work, CudaModule& module, const char* name,
                     const CudaKernel** kernel);

}  // namespace kdl::runtime
