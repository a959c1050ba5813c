// Memory that reveals misuse. Every allocation is filled with poison and is surrounded by guard bands or
// guard pages. Its addresses are not valid in this process until the device converts them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

// The contents of newly allocated memory: NaN as a float, -1 as an integer, and neither 0 nor 1 as a bool.
inline constexpr unsigned char kPoison = 0xff;

// What surrounds an allocation. Guard bands reveal writes out of bounds. An inaccessible page also reveals
// reads out of bounds, because they fault. `End` places the last byte of the data directly before the page,
// and `Start` places the first byte directly after it.
enum class Guard : std::uint8_t { Bands, End, Start };

struct DebugAllocation {
  // With Bands, the data is aligned to 64 bytes but to no larger power of two. With End, it may be
  // unaligned.
  char* data = nullptr;
  std::int64_t bytes = 0;
  char* low = nullptr;  // the guard bands are [low, data) and [data + bytes, high)
  char* high = nullptr;
  char* block = nullptr;          // the heap block, or the mapping if there are guard pages
  std::int64_t mapped_bytes = 0;  // size of the mapping; 0 if `block` is a heap block
  std::string name;
};

// Convert between addresses on the device and in this process. Accessing a tagged address faults. Null stays
// null.
void* TagAddress(void* address);
void* UntagAddress(void* address);

class DebugMemory {
 public:
  explicit DebugMemory(Guard guard) : guard_(guard) {}
  ~DebugMemory();
  DebugMemory(const DebugMemory&) = delete;
  DebugMemory& operator=(const DebugMemory&) = delete;

  // Allocates memory. Returns null if there is not enough memory.
  DebugAllocation* Allocate(std::int64_t bytes, const char* name);
  void Release(DebugAllocation* allocation);

  // Checks all guard bands, and repairs them. Returns a description of the first damage, or "" if there is
  // none.
  std::string CheckGuards();

 private:
  Guard guard_;
  std::map<DebugAllocation*, std::unique_ptr<DebugAllocation>> allocations_;
};

// Copies of buffers, taken before a launch to find its stray writes afterwards.
class Snapshot {
 public:
  // Copies the buffers that contain the launch's tensors.
  explicit Snapshot(const kdl_launch_request& request);

  // Returns a description of what the launch wrote outside the tensors that it may write, or "". `tensors`
  // are the launch's tensors with their addresses in this process.
  std::string FindStrayWrite(const kdl_launch_request& request,
                             const std::vector<kdl_tensor>& tensors);

 private:
  std::map<const DebugAllocation*, std::vector<char>> copies_;
};

}  // namespace kdl::runtime
