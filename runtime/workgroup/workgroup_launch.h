// Launches of kernels whose cores are workgroups of threads (see kdl/workgroup_abi.h). The code is
// independent of the driver's interface.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/error.h"
#include "kdl/device_plugin.h"
#include "workgroup/launch_arguments.h"

namespace kdl::runtime {

// The driver's part of one launch. Operations run in the order of the calls. `Read` returns after all earlier
// operations have ended. `Write` copies the numbers before it returns.
class WorkgroupDriver {
 public:
  virtual ~WorkgroupDriver() = default;
  // Allocates memory for the duration of the launch. Only such memory may be passed to `Release`.
  virtual Error Take(std::int64_t bytes, void** memory) = 0;
  virtual void Release(void* memory) = 0;
  virtual Error Write(void* to, std::span<const std::int64_t> numbers) = 0;
  virtual Error Read(std::span<std::int64_t> to, void* from) = 0;
  virtual WorkgroupPlace PlaceOf(const void* address) = 0;
  // Returns the maximum number of bytes that scratch should occupy.
  virtual std::int64_t most_scratch() const = 0;
  // Runs `cores` cores of the kernel, starting with core `numbers[2]`. `memories` are the arguments that
  // follow the numbers. The kernel does not access a null argument. `numbers` and `memories` are the same in
  // all calls of a launch, except for the first kdl_workgroup_header numbers.
  virtual Error Call(std::span<const std::int64_t> numbers, std::span<void* const> memories,
                     std::int64_t cores) = 0;
  // Returns a suffix for a trap's message that identifies a thread, such as ` (cluster 2)`. `core` is the
  // number of the core in the launch, `place` is its position in the call, and `worker` is the number of the
  // thread in the core.
  virtual std::string WhoIs(std::int64_t core, std::int64_t place, std::int64_t worker);
};

// Runs all parts of the launch and shows what they have printed. Returns an error if the kernel traps.
Error RunWorkgroupLaunch(WorkgroupDriver& driver, const kdl_launch_request& request);

}  // namespace kdl::runtime
