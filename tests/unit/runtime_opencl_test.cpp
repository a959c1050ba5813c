#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "opencl/opencl_programs.h"

// Tests the error messages for kernels that a device cannot run, with a fake driver.

namespace kdl::runtime {

namespace {

std::string extensions;

// Returns the same text for every property except the extensions.
std::int32_t TellOf(std::uint32_t what, std::size_t bytes, void* to, std::size_t* needs) {
  const std::string text = what == cl::kDeviceExtensions ? extensions : "a device";
  if (needs != nullptr) *needs = text.size() + 1;
  if (to != nullptr) std::memcpy(to, text.c_str(), std::min(bytes, text.size() + 1));
  return cl::kSuccess;
}

cl::Api DriverWithoutKernels() {
  cl::Api api;
  api.GetDeviceInfo = [](cl::DeviceId, std::uint32_t what, std::size_t bytes, void* to,
                         std::size_t* needs) { return TellOf(what, bytes, to, needs); };
  api.GetPlatformInfo = [](cl::PlatformId, std::uint32_t what, std::size_t bytes, void* to,
                           std::size_t* needs) { return TellOf(what, bytes, to, needs); };
  api.CreateKernel = [](cl::ProgramId, const char*, std::int32_t* status) -> cl::KernelId {
    *status = cl::kInvalidKernelName;
    return nullptr;
  };
  return api;
}

}  // namespace

TEST_CASE(
    "OpenCL: a kernel that a device lacks features for is rejected, and the error names them") {
  const cl::Api api = DriverWithoutKernels();
  OpenclModule module;
  cl::KernelId kernel = nullptr;
  const auto refusal = [&](const char* has, kdl_code code) {
    extensions = has;
    const OpenclPrograms programs(api, nullptr, nullptr);
    const Error error = programs.FindKernel(module, "kdl_wide_2", &kernel);
    CHECK(kdl_error_code(error.get()) == code);
    return std::string(kdl_error_message(error.get()));
  };
  CHECK(refusal("cl_khr_fp64_not cl_khr_int64_extended_atomics", KDL_ERROR_UNSUPPORTED) ==
        "a device cannot run kernel kdl_wide_2, which uses f64 or 64-bit atomic updates: it does "
        "not support "
        "cl_khr_fp64, cl_khr_int64_base_atomics");
  CHECK(refusal("cl_khr_int64_base_atomics cl_khr_fp64", KDL_ERROR_UNSUPPORTED) ==
        "a device cannot run kernel kdl_wide_2, which uses f64 or 64-bit atomic updates: it does "
        "not support "
        "cl_khr_int64_extended_atomics");
  CHECK(refusal("cl_khr_fp64 cl_khr_int64_base_atomics cl_khr_int64_extended_atomics",
                KDL_ERROR_DEVICE) ==
        "OpenCL: finding kernel kdl_wide_2 failed: CL_INVALID_KERNEL_NAME (-46)");
}

}  // namespace kdl::runtime
