#include "interp/async_copies.h"

#include <algorithm>

namespace kdl::interp {

namespace {

/// Returns whether the copy is into or out of the slot. No copy is in two slots.
bool IsInSlot(const AsyncCopy& copy, int64_t slot) {
  int64_t elements = 1;
  for (size_t d = 1; d < copy.buffer->type()->dims.size(); ++d)
    elements *= copy.buffer->type()->dims[d]->value;
  return copy.elements.front().offset / elements == slot;
}

}  // namespace

void AsyncCopies::Begin(int64_t thread, AsyncCopy copy) {
  if (copy.elements.empty()) return;
  copy.group = ThreadAt(thread).groups;
  ThreadAt(thread).copies.push_back(std::move(copy));
}

void AsyncCopies::BeginAt(MbarrierId mbarrier, AsyncCopy copy) {
  of_mbarriers_[mbarrier].push_back(std::move(copy));
}

std::vector<AsyncCopy> AsyncCopies::End(int64_t thread, const AwaitedCopies& awaited) {
  Thread& self = ThreadAt(thread);
  auto remains = [&](const AsyncCopy& copy) {
    return copy.buffer != awaited.buffer || copy.in != awaited.in ||
           (awaited.slot && !IsInSlot(copy, *awaited.slot)) ||
           (awaited.ahead && copy.group >= self.groups - *awaited.ahead);
  };
  std::vector<AsyncCopy> copies;
  std::vector<AsyncCopy> left;
  for (AsyncCopy& copy : self.copies) (remains(copy) ? left : copies).push_back(std::move(copy));
  self.copies = std::move(left);
  return copies;
}

std::vector<AsyncCopy> AsyncCopies::EndAt(MbarrierId mbarrier) {
  auto found = of_mbarriers_.find(mbarrier);
  if (found == of_mbarriers_.end()) return {};
  std::vector<AsyncCopy> copies = std::move(found->second);
  of_mbarriers_.erase(found);
  return copies;
}

}  // namespace kdl::interp
