// Launches of kernels whose cores are workgroups of threads (kdl/workgroup_abi.h), independent of the driver's
// interface.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/error.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// A kernel's memory argument: the driver's handle and a byte offset.
struct WorkgroupPlace {
  void* memory = nullptr;
  std::int64_t offset = 0;
};

// The driver's part of one launch. Operations run in the order of the calls. `Read` returns when all of them
// have ended; `Write` has copied the numbers when it returns.
class WorkgroupDriver {
 public:
  virtual ~WorkgroupDriver() = default;
  // Allocates memory for the duration of the launch. `Release` may only be given memory from here.
  virtual Error Take(std::int64_t bytes, void** memory) = 0;
  virtual void Release(void* memory) = 0;
  virtual Error Write(void* to, std::span<const std::int64_t> numbers) = 0;
  virtual Error Read(std::span<std::int64_t> to, void* from) = 0;
  virtual WorkgroupPlace PlaceOf(const void* address) = 0;
  // The most bytes that scratch should occupy.
  virtual std::int64_t most_scratch() const = 0;
  // Runs `cores` cores of the kernel, starting with core numbers[2]. `memories` are the arguments after the
  // numbers; a null is an argument that is not accessed. In all calls of a launch both are the same except
  // for the first kdl_workgroup_header numbers.
  virtual Error Call(std::span<const std::int64_t> numbers, std::span<void* const> memories,
                     std::int64_t cores) = 0;
  // Returns a suffix for a trap's message that identifies a thread, such as ` (cluster 2)`. `core` is the
  // core of the launch, `place` its position in the call, and `worker` its thread.
  virtual std::string WhoIs(std::int64_t core, std::int64_t place, std::int64_t worker);
};

// Runs all parts of the launch and shows what has been printed. A trap is an error.
Error RunWorkgroupLaunch(WorkgroupDriver& driver, const kdl_launch_request& request);

}  // namespace kdl::runtime
