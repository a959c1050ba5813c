// A launch of a kernel whose cores are teams (kdl/workgroup_abi.h), on a device that a driver of another interface runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/error.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// A kernel's argument: memory by the driver's own name for it, and the bytes before what is meant.
struct WorkgroupPlace {
  void* memory = nullptr;
  std::int64_t offset = 0;
};

// What the driver does for one launch. Each thing is done after those before it, and `Read` returns when all have ended; `Write`
// has taken the numbers when it returns.
class WorkgroupDriver {
 public:
  virtual ~WorkgroupDriver() = default;
  // Memory for the time of the launch; it and what `Release` is given belong together.
  virtual Error Take(std::int64_t bytes, void** memory) = 0;
  virtual void Release(void* memory) = 0;
  virtual Error Write(void* to, std::span<const std::int64_t> numbers) = 0;
  virtual Error Read(std::span<std::int64_t> to, void* from) = 0;
  virtual WorkgroupPlace PlaceOf(const void* address) = 0;
  // The most bytes that scratch should take.
  virtual std::int64_t most_scratch() const = 0;
  // Runs the kernel's cores from numbers[2] on, `cores` of them. `memories` are its arguments after the numbers; null: nothing
  // is touched there. Both are the same in all calls of a launch but for the first numbers, kdl_workgroup_header of them.
  virtual Error Call(std::span<const std::int64_t> numbers, std::span<void* const> memories,
                     std::int64_t cores) = 0;
  // What a trap's message says besides, such as ` (cluster 2)`, of a worker of a core of the launch, the `place`th of its call.
  virtual std::string WhoIs(std::int64_t core, std::int64_t place, std::int64_t worker);
};

// Runs all parts of the launch; a trap is an error, and what has been printed is shown.
Error RunWorkgroupLaunch(WorkgroupDriver& driver, const kdl_launch_request& request);

}  // namespace kdl::runtime
