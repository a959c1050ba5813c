// Memory that shows misuse: every allocation is poisoned and lies between guard bands, and its
// addresses are no addresses of this process until the device turns them into some.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

// What fresh memory holds: NaN as a float, -1 as an integer, neither 0 nor 1 as a bool.
inline constexpr unsigned char kPoison = 0xff;

struct DebugAllocation {
  char* block = nullptr;  // with the bands
  char* data = nullptr;   // aligned to 64 and to no more
  std::int64_t bytes = 0;
  std::string name;
};

// Between the device's addresses and this process's. An address with the tag faults when it is
// used; null stays null.
void* TagAddress(void* address);
void* UntagAddress(void* address);

class DebugMemory {
 public:
  DebugMemory() = default;
  ~DebugMemory();
  DebugMemory(const DebugMemory&) = delete;
  DebugMemory& operator=(const DebugMemory&) = delete;

  // Null where memory is short.
  DebugAllocation* Allocate(std::int64_t bytes, const char* name);
  void Release(DebugAllocation* allocation);

  // Looks at all guard bands and mends them. Gives what the first damaged one shows, or "".
  std::string CheckGuards();

 private:
  std::map<DebugAllocation*, std::unique_ptr<DebugAllocation>> allocations_;
};

// Copies of buffers from before a launch, to see afterwards what it must not have written.
class Snapshot {
 public:
  // Of the buffers of the launch's tensors.
  explicit Snapshot(const kdl_launch_request& request);

  // What the launch wrote outside the tensors that it may write, or "". `tensors` are those of the
  // launch with this process's addresses.
  std::string FindStrayWrite(const kdl_launch_request& request,
                             const std::vector<kdl_tensor>& tensors);

 private:
  std::map<const DebugAllocation*, std::vector<char>> copies_;
};

}  // namespace kdl::runtime
