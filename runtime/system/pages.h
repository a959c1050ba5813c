// Memory by the page.
#pragma once

#include <cstdint>

namespace kdl::runtime {

std::int64_t PageBytes();
// Of the machine; 0: unknown.
std::int64_t PhysicalMemoryBytes();

// Whole pages that nobody may touch; null: there are none.
void* ReservePages(std::int64_t bytes);
// Makes a part of them memory that holds zeros.
bool OpenPages(void* first, std::int64_t bytes);
// Memory that is a file's, for all processes that map it; null: errno says why not.
void* MapFile(int file, std::int64_t bytes);
// Gives back what one of these has given, all of it.
void UnmapPages(void* first, std::int64_t bytes);

// A hint.
void AskForLargePages(void* memory, std::int64_t bytes);
// Whether a child process finds zeros there.
bool EmptyInChildren(void* first, std::int64_t bytes);

}  // namespace kdl::runtime
