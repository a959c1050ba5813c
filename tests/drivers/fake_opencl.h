// An OpenCL loader before the machine's own, of which a function can be made to fail, and facts of kernels to be others. Where
// FAKE_OPENCL_CONSTANTS is set, devices have that many bytes of constants; where FAKE_OPENCL_APART is, memory of their own.
#pragma once

#include <cstdint>

extern "C" {
// From its next call on the function, "clFinish", gives this status so often; then what the machine's own gives.
void fake_opencl_fail(const char* function, std::int32_t status, int times);
// How often a function has been called.
int fake_opencl_calls(const char* function);
// What kernels are said to take of local memory; 0: what is so.
void fake_opencl_workgroup(std::uint64_t bytes);
}
