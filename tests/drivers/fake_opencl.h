// A wrapper of the machine's OpenCL loader, in which functions can be made to fail and facts about kernels
// can be changed. FAKE_OPENCL_CONSTANTS sets the bytes of constants of devices; FAKE_OPENCL_APART gives them
// memory of their own.
#pragma once

#include <cstdint>

extern "C" {
// Makes the next `times` calls of the function, such as "clFinish", return this status. Later calls return
// the machine's own.
void fake_opencl_fail(const char* function, std::int32_t status, int times);
// Returns how often a function has been called.
int fake_opencl_calls(const char* function);
// Sets how much local memory kernels report; 0: the true value.
void fake_opencl_workgroup(std::uint64_t bytes);
}
