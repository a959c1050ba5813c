// Wraps the machine's OpenCL loader. Functions can be made to fail, and facts about kernels can be changed.
// FAKE_OPENCL_CONSTANTS sets the size of constant memory that devices report. With FAKE_OPENCL_APART, devices
// report that they have their own memory.
#pragma once

#include <cstdint>

extern "C" {
// Makes the next `times` calls of the function, such as "clFinish", return this status. Later calls return
// the real status.
void fake_opencl_fail(const char* function, std::int32_t status, int times);
// Returns how many times a function has been called.
int fake_opencl_calls(const char* function);
// Sets how much local memory the driver reports for kernels; 0 restores the true value.
void fake_opencl_workgroup(std::uint64_t bytes);
}
