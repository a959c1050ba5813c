#include "system/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace kdl::runtime {

namespace {

void* OrNull(void* mapped) { return mapped == MAP_FAILED ? nullptr : mapped; }

}  // namespace

std::int64_t PageBytes() { return sysconf(_SC_PAGESIZE); }

std::int64_t PhysicalMemoryBytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  return pages > 0 && PageBytes() > 0 ? std::int64_t{pages} * PageBytes() : 0;
}

void* ReservePages(std::int64_t bytes) {
  return OrNull(mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

bool OpenPages(void* first, std::int64_t bytes) {
  return mprotect(first, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE) == 0;
}

void* MapFile(int file, std::int64_t bytes) {
  return OrNull(mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_NORESERVE, file, 0));
}

void UnmapPages(void* first, std::int64_t bytes) { munmap(first, static_cast<std::size_t>(bytes)); }

void AskForLargePages([[maybe_unused]] void* memory, [[maybe_unused]] std::int64_t bytes) {
#ifdef MADV_HUGEPAGE
  madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
#endif
}

void ReleasePages(void* first, std::int64_t bytes) {
  madvise(first, static_cast<std::size_t>(bytes), MADV_DONTNEED);
}

bool EmptyInChildren([[maybe_unused]] void* first, [[maybe_unused]] std::int64_t bytes) {
#ifdef MADV_WIPEONFORK
  return madvise(first, static_cast<std::size_t>(bytes), MADV_WIPEONFORK) == 0;
#else
  return false;
#endif
}

}  // namespace kdl::runtime
