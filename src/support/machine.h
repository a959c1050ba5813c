#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kdl {

/// Returns the size of this machine's physical memory in bytes.
int64_t PhysicalMemoryBytes();
/// Returns the size of this machine's level 3 caches in bytes; 0 or less if the system does not report it.
int64_t LargestCacheBytes();
/// Advises the system to use huge pages for memory that starts at a huge page boundary.
void AskForLargePages(void* memory, std::size_t bytes);

/// Returns the processors that the calling thread may use, in ascending order.
std::vector<int> AllowedProcessors();
/// Restricts the calling thread to these processors.
void StayOn(const std::vector<int>& processors);

}  // namespace kdl
