// The properties of a device, for programs that launch kernels on it and for users.
#pragma once

#include "cuda/cuda_context.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// Returns the architecture levels whose code a GPU of compute capability major.minor can run, best first.
// `level` is 10 * major + minor. Returns an empty string if there are none.
std::string CudaArchsOf(int level);
void CudaFacts(void* device, kdl_device_facts* facts);
std::int64_t CudaProperties(void* device, kdl_property* properties, std::int64_t capacity);

}  // namespace kdl::runtime
