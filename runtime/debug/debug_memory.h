// Memory that reveals misuse. Every allocation is poisoned and lies between guard bands or guard pages. Its
// addresses are not valid in this process until the device converts them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

// The content of fresh memory: NaN as a float, -1 as an integer, and neither 0 nor 1 as a bool.
inline constexpr unsigned char kPoison = 0xff;

// What surrounds an allocation. Bands reveal where something was written outside. An inaccessible page also
// reveals reads outside, because they fault: `End` puts the last byte of the data right before the page,
// `Start` puts the first byte right after it.
enum class Guard : std::uint8_t { Bands, End, Start };

struct DebugAllocation {
  char* data = nullptr;  // with Bands aligned to exactly 64, with End unaligned
  std::int64_t bytes = 0;
  char* low = nullptr;  // the bands are [low, data) and [data + bytes, high)
  char* high = nullptr;
  char* block = nullptr;          // the allocated block or, with guard pages, the mapping
  std::int64_t mapped_bytes = 0;  // 0: allocated
  std::string name;
};

// Convert between the device's addresses and this process's. Accessing a tagged address faults; null stays
// null.
void* TagAddress(void* address);
void* UntagAddress(void* address);

class DebugMemory {
 public:
  explicit DebugMemory(Guard guard) : guard_(guard) {}
  ~DebugMemory();
  DebugMemory(const DebugMemory&) = delete;
  DebugMemory& operator=(const DebugMemory&) = delete;

  // Returns null if memory is short.
  DebugAllocation* Allocate(std::int64_t bytes, const char* name);
  void Release(DebugAllocation* allocation);

  // Checks all guard bands and repairs them. Returns a description of the first damage, or "".
  std::string CheckGuards();

 private:
  Guard guard_;
  std::map<DebugAllocation*, std::unique_ptr<DebugAllocation>> allocations_;
};

// Copies of buffers, taken before a launch to find stray writes after it.
class Snapshot {
 public:
  // Copies the buffers of the launch's tensors.
  explicit Snapshot(const kdl_launch_request& request);

  // Returns what the launch wrote outside the tensors that it may write, or "". `tensors` are the launch's
  // tensors with this process's addresses.
  std::string FindStrayWrite(const kdl_launch_request& request,
                             const std::vector<kdl_tensor>& tensors);

 private:
  std::map<const DebugAllocation*, std::vector<char>> copies_;
};

}  // namespace kdl::runtime
