// Memory of an OpenCL context. Its addresses cannot be dereferenced. Each address is a number that encodes a
// buffer and an offset in it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "kdl/device_plugin.h"
#include "opencl/cl_api.h"

namespace kdl::runtime {

struct OpenclAllocation {
  cl::MemoryId buffer = nullptr;
  std::int64_t bytes = 0;
  std::uint64_t address = 0;
};

// A position in a buffer.
struct OpenclPlace {
  cl::MemoryId buffer = nullptr;
  std::int64_t offset = 0;
};

class OpenclMemory {
 public:
  OpenclMemory(const cl::Api& api, cl::ContextId context) : api_(api), context_(context) {}

  Error Allocate(std::int64_t bytes, kdl_memory* memory);
  void Release(kdl_memory memory);
  // Returns the position that an address denotes. The address must be in memory that `Allocate` returned.
  OpenclPlace PlaceOf(const void* address);

 private:
  const cl::Api& api_;
  cl::ContextId context_;
  std::mutex mutex_;  // guards the members below
  std::uint64_t next_ = std::uint64_t{1} << 40;
  std::map<std::uint64_t, OpenclAllocation*> by_address_;
};

}  // namespace kdl::runtime
