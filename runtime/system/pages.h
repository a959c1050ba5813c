// Memory that is managed in units of pages.
#pragma once

#include <cstdint>

namespace kdl::runtime {

std::int64_t PageBytes();
// Returns the size of the machine's physical memory, or 0 if it is unknown.
std::int64_t PhysicalMemoryBytes();

// Reserves address space in whole pages, which are inaccessible. Returns null on failure.
void* ReservePages(std::int64_t bytes);
// Makes a part of reserved pages accessible. They are filled with zeros.
bool OpenPages(void* first, std::int64_t bytes);
// Maps a file as memory that is shared between all processes that map it. On failure, returns null and sets
// errno.
void* MapFile(int file, std::int64_t bytes);
// Unmaps memory that ReservePages or MapFile returned.
void UnmapPages(void* first, std::int64_t bytes);

// Asks the system to use large pages for the memory.
void AskForLargePages(void* memory, std::int64_t bytes);
// Gives whole pages of private memory back to the system. They read as zeros until they are written again.
void ReleasePages(void* first, std::int64_t bytes);
// Makes the memory read as zeros in forked child processes. Returns whether that succeeded.
bool EmptyInChildren(void* first, std::int64_t bytes);

}  // namespace kdl::runtime
