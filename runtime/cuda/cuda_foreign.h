// Memory and streams that the application, or another library, has created in the same context.
#pragma once

#include <cstdint>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

// Functions of the plugin interface (see kdl/device_plugin.h).
kdl_error* AdoptCudaMemory(void* device, void* address, std::int64_t bytes, kdl_memory* memory);
kdl_error* MarkCudaStream(void* device, void* stream, void** mark);
void UnmarkCuda(void* device, void* mark);

}  // namespace kdl::runtime
