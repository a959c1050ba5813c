#include "core/scratch_pool.h"

#include <algorithm>

namespace kdl::runtime {

ScratchPool::~ScratchPool() {
  for (const Block& block : free_) memory_.Free(block.data, block.bytes);
}

ScratchPool::Block ScratchPool::Acquire(std::int64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto fits = std::find_if(free_.begin(), free_.end(),
                                   [&](const Block& block) { return block.bytes >= bytes; });
    if (fits != free_.end()) {
      const Block block = *fits;
      free_.erase(fits);
      return block;
    }
  }
  return {static_cast<char*>(memory_.Allocate(bytes)), bytes};
}

void ScratchPool::GiveBack(Block block) {
  const std::lock_guard lock(mutex_);
  free_.push_back(block);
  if (free_.size() <= kMostKept) return;
  const auto smallest = std::min_element(
      free_.begin(), free_.end(), [](const Block& a, const Block& b) { return a.bytes < b.bytes; });
  memory_.Free(smallest->data, smallest->bytes);
  free_.erase(smallest);
}

}  // namespace kdl::runtime
