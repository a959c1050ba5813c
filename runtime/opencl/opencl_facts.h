// The properties of a device, for programs that launch kernels on it and for users.
#pragma once

#include "kdl/device_plugin.h"
#include "opencl/opencl_context.h"

namespace kdl::runtime {

void OpenclFacts(void* device, kdl_device_facts* facts);
std::int64_t OpenclProperties(void* device, kdl_property* properties, std::int64_t capacity);

}  // namespace kdl::runtime
