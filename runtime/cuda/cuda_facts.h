// The properties of a device, for programs that launch kernels on it and for users.
#pragma once

#include <string>
#include <string_view>

#include "cuda/cuda_context.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// Returns the architecture levels whose code a GPU of compute capability major.minor can run, best first.
// `level` is 10 * major + minor. Returns an empty string if there are none.
std::string CudaArchsOf(int level);
// Whether the GPU runs machine code for the architecture level `arch`: only code for its own generation, and
// not for a later GPU of that generation.
bool CudaRunsMachineCode(int level, std::string_view arch);
void CudaFacts(void* device, kdl_device_facts* facts);
std::int64_t CudaProperties(void* device, kdl_property* properties, std::int64_t capacity);

}  // namespace kdl::runtime
