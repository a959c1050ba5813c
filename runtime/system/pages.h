// Memory in units of pages.
#pragma once

#include <cstdint>

namespace kdl::runtime {

std::int64_t PageBytes();
// The physical memory of the machine; 0 if unknown.
std::int64_t PhysicalMemoryBytes();

// Reserves whole inaccessible pages; null on failure.
void* ReservePages(std::int64_t bytes);
// Makes a part of them accessible, filled with zeros.
bool OpenPages(void* first, std::int64_t bytes);
// Maps a file as memory that all processes share that map it. On failure returns null and sets errno.
void* MapFile(int file, std::int64_t bytes);
// Unmaps all that one of the functions above has returned.
void UnmapPages(void* first, std::int64_t bytes);

// Suggests large pages to the system.
void AskForLargePages(void* memory, std::int64_t bytes);
// Makes the memory read as zeros in child processes. Returns whether that worked.
bool EmptyInChildren(void* first, std::int64_t bytes);

}  // namespace kdl::runtime
