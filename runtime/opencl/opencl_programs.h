// Programs of an OpenCL device. The driver compiles them from the source in images, or they are loaded from
// binaries that the driver made from the same source earlier, perhaps in another process.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/disk_cache.h"
#include "kdl/device_plugin.h"
#include "opencl/cl_api.h"

namespace kdl::runtime {

// What to check if a driver fails without a reason.
inline constexpr const char* kCacheHint =
    "check that its cache can be written and its disk is not full (PoCL: the folder "
    "POCL_CACHE_DIR, or ~/.cache/pocl)";

struct OpenclModule {
  cl::ProgramId program = nullptr;
  std::map<std::string, cl::KernelId> kernels;  // the kernels that have been looked up so far
  // The key for storing the binary when the program is destroyed. Empty if the binary is already stored or
  // must not be stored.
  std::string key;
};

// The names of the driver and the device.
struct OpenclNames {
  std::string platform;
  std::string platform_version;
  std::string device;
  std::string vendor;
  std::string version;  // the OpenCL version
  std::string driver;
  std::string lacked;  // the extensions that kernels may use but that the device lacks
};

class OpenclPrograms {
 public:
  OpenclPrograms(const cl::Api& api, cl::ContextId context, cl::DeviceId device);

  const OpenclNames& names() const { return names_; }
  std::int64_t compiled() const { return compiled_; }
  std::int64_t found() const { return found_; }

  Error Make(const kdl_image& image, std::unique_ptr<OpenclModule>* made);
  Error FindKernel(OpenclModule& module, const char* name, cl::KernelId* kernel) const;
  void End(OpenclModule& module) const;

 private:
  std::string KeyOf(const kdl_image& image) const;
  bool Find(const std::string& key, cl::ProgramId* program) const;
  Error Compile(const kdl_image& image, cl::ProgramId* program) const;
  void Keep(const std::string& key, cl::ProgramId program) const;
  Error NoKernel(const OpenclModule& module, const char* name) const;

  const cl::Api& api_;
  cl::ContextId context_;
  cl::DeviceId device_;
  std::uint64_t constant_bytes_ = 0;  // the most constant memory that a kernel may use
  std::string options_;               // options for the driver's compiler
  OpenclNames names_;                 // names that identify the compiler and its target
  bool compiles_late_ = false;        // whether kernels are compiled only when they are launched
  DiskCache cache_;
  std::atomic<std::int64_t> compiled_{0};
  std::atomic<std::int64_t> found_{0};
};

// Returns the error for an OpenCL call that returned `status`.
Error OpenclFailure(std::string_view what, std::int32_t status);

}  // namespace kdl::runtime
