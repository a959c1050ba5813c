#include "workgroup/memory_pool.h"

#include <algorithm>
#include <bit>
#include <new>

namespace kdl::runtime {

namespace {

constexpr std::int64_t kLeast = 64;
// Limit on the total size of all kept chunks.
constexpr std::int64_t kMostKept = std::int64_t{64} << 20;

}  // namespace

std::int64_t MemoryPool::Rounded(std::int64_t bytes) {
  if (bytes > kMostKept) return bytes;
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max(bytes, kLeast))));
}

void* MemoryPool::Take(std::int64_t rounded) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(rounded);
  if (found == kept_.end()) return nullptr;
  void* memory = found->second;
  kept_.erase(found);
  kept_bytes_ -= rounded;
  return memory;
}

bool MemoryPool::Add(void* memory, std::int64_t rounded) try {
  const std::lock_guard lock(mutex_);
  sizes_[memory] = rounded;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

bool MemoryPool::Keep(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto piece = sizes_.find(memory);
  const std::int64_t rounded = piece->second;
  if (rounded <= kMostKept - kept_bytes_) try {
      kept_.emplace(rounded, memory);
      kept_bytes_ += rounded;
      return true;
    } catch (const std::bad_alloc&) {
    }
  sizes_.erase(piece);
  return false;
}

std::vector<void*> MemoryPool::Empty() {
  const std::lock_guard lock(mutex_);
  std::vector<void*> pieces;
  for (const auto& [rounded, memory] : kept_) {
    pieces.push_back(memory);
    sizes_.erase(memory);
  }
  kept_.clear();
  kept_bytes_ = 0;
  return pieces;
}

}  // namespace kdl::runtime
