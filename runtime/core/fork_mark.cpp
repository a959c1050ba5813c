#include "core/fork_mark.h"

#include <sys/mman.h>

#include <cstddef>

namespace kdl::runtime {

namespace {

constexpr std::size_t kBytes = 4096;

}  // namespace

ForkMark::ForkMark() {
  void* page = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, kBytes, MADV_WIPEONFORK) != 0) {
    munmap(page, kBytes);
    return;
  }
  page_ = static_cast<volatile char*>(page);
  *page_ = 1;
}

ForkMark::~ForkMark() {
  if (page_ != nullptr) munmap(const_cast<char*>(page_), kBytes);
}

}  // namespace kdl::runtime
