// Programs of an OpenCL device, made of the text of images: by its driver, or from what the driver made of the same text
// before, in another process perhaps.
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

struct OpenclModule {
  cl::ProgramId program = nullptr;
  std::map<std::string, cl::KernelId> kernels;  // that have been asked for
  std::string key;  // to keep the program by, at its end; empty: it is kept, or shall not be
};

// What the driver calls itself and the device.
struct OpenclNames {
  std::string platform;
  std::string platform_version;
  std::string device;
  std::string vendor;
  std::string version;  // of OpenCL
  std::string driver;
  std::string lacked;  // extensions that kernels may use; empty: it has all of them
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
  std::uint64_t constant_bytes_ = 0;  // that a kernel may have
  std::string options_;               // of the driver's compiler
  OpenclNames names_;                 // that say which compiler it is, and for what
  bool compiles_late_ = false;        // not before a kernel is launched
  DiskCache cache_;
  std::atomic<std::int64_t> compiled_{0};
  std::atomic<std::int64_t> found_{0};
};

// The error of a call of OpenCL's that gave `status`.
Error OpenclFailure(std::string_view what, std::int32_t status);

}  // namespace kdl::runtime
