#include "system/fork_mark.h"

#include "system/pages.h"

namespace kdl::runtime {

ForkMark::ForkMark() {
  void* page = ReservePages(PageBytes());
  if (page == nullptr) return;
  if (!OpenPages(page, PageBytes()) || !EmptyInChildren(page, PageBytes())) {
    UnmapPages(page, PageBytes());
    return;
  }
  page_ = static_cast<volatile char*>(page);
  *page_ = 1;
}

ForkMark::~ForkMark() {
  if (page_ != nullptr) UnmapPages(const_cast<char*>(page_), PageBytes());
}

}  // namespace kdl::runtime
