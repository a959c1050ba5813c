// Memory of this process that launches borrow.
#pragma once

#include <mutex>
#include <vector>

#include "core/host_memory.h"

namespace kdl::runtime {

// Blocks of memory that launches borrow, kept for the next one.
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

  // At least `bytes`, aligned; data is null where memory is short.
  Block Acquire(std::int64_t bytes);
  void GiveBack(Block block);

 private:
  // Larger blocks serve every launch; a few are enough for the launches that run at once.
  static constexpr std::size_t kMostKept = 4;

  const HostMemory memory_;
  std::mutex mutex_;
  std::vector<Block> free_;
};

}  // namespace kdl::runtime
