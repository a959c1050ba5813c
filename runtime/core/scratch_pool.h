// A pool of host memory for launches.
#pragma once

#include <mutex>
#include <vector>

#include "core/host_memory.h"

namespace kdl::runtime {

// Memory blocks that launches borrow. Returned blocks are kept for later launches.
class ScratchPool {
 public:
  struct Block {
    char* data = nullptr;
    std::int64_t bytes = 0;
  };

  explicit ScratchPool(const HostMemory& memory = {}) : memory_(memory) {
    free_.reserve(kMostKept + 1);
  }
  ~ScratchPool();
  ScratchPool(const ScratchPool&) = delete;
  ScratchPool& operator=(const ScratchPool&) = delete;

  // Returns an aligned block of at least `bytes` bytes. The block's data is null if there is not enough
  // memory.
  Block Acquire(std::int64_t bytes);
  void GiveBack(Block block);

 private:
  // A block can serve any launch that needs at most its size, so a few blocks are enough for concurrent
  // launches.
  static constexpr std::size_t kMostKept = 4;

  const HostMemory memory_;
  std::mutex mutex_;
  std::vector<Block> free_;
};

}  // namespace kdl::runtime
