// Memory that shows misuse: every allocation is poisoned and lies between guard bands or guard pages, and its
// addresses are no addresses of this process until the device turns them into some.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

// What fresh memory holds: NaN as a float, -1 as an integer, neither 0 nor 1 as a bool.
inline constexpr unsigned char kPoison = 0xff;

// What lies next to an allocation. Bands show what was written outside, with its place. A page that nothing may touch shows
// what was read, too, by a fault: `End` puts the last byte of the data right before it, `Start` the first one
// right after it.
enum class Guard : std::uint8_t { Bands, End, Start };

struct DebugAllocation {
  char* data = nullptr;  // with Bands aligned to 64 and to no more, with End to nothing
  std::int64_t bytes = 0;
  char* low = nullptr;  // the bands are [low, data) and [data + bytes, high)
  char* high = nullptr;
  char* block = nullptr;          // what was allocated or, where pages guard, mapped
  std::int64_t mapped_bytes = 0;  // 0: allocated
  std::string name;
};

// Between the device's addresses and this process's. An address with the tag faults when it is
// used; null stays null.
void* TagAddress(void* address);
void* UntagAddress(void* address);

class DebugMemory {
 public:
  explicit DebugMemory(Guard guard) : guard_(guard) {}
  ~DebugMemory();
  DebugMemory(const DebugMemory&) = delete;
  DebugMemory& operator=(const DebugMemory&) = delete;

  // Null where memory is short.
  DebugAllocation* Allocate(std::int64_t bytes, const char* name);
  void Release(DebugAllocation* allocation);

  // Looks at all guard bands and mends them. Gives what the first damaged one shows, or "".
  std::string CheckGuards();

 private:
  Guard guard_;
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
