// What a device is: for whoever launches on it, and for people.
#pragma once

#include "cuda/cuda_context.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// Of the code that machines of a level run, `10 * major + minor`, the best first; empty: none is made for them.
std::string CudaArchsOf(int level);
void CudaFacts(void* device, kdl_device_facts* facts);
std::int64_t CudaProperties(void* device, kdl_property* properties, std::int64_t capacity);

}  // namespace kdl::runtime
