#include "support/machine.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace kdl {

int64_t LargestCacheBytes() { return ::sysconf(_SC_LEVEL3_CACHE_SIZE); }

int64_t PhysicalMemoryBytes() {
  return static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

void AskForLargePages(void* memory, std::size_t bytes) { ::madvise(memory, bytes, MADV_HUGEPAGE); }

std::vector<int> AllowedProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  std::vector<int> processors;
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (CPU_ISSET(static_cast<std::size_t>(number), &set)) processors.push_back(number);
  }
  return processors;
}

void StayOn(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int processor : processors) CPU_SET(static_cast<std::size_t>(processor), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace kdl
