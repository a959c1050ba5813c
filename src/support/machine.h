#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kdl {

/// Bytes of memory that this machine has.
int64_t PhysicalMemoryBytes();
/// Bytes of its third level of caches; 0 or less where the system does not say.
int64_t LargestCacheBytes();
/// A hint for memory that starts at a large page.
void AskForLargePages(void* memory, std::size_t bytes);

/// The processors that the calling thread may use, ascending.
std::vector<int> AllowedProcessors();
/// Lets the calling thread run on these alone.
void StayOn(const std::vector<int>& processors);

}  // namespace kdl
