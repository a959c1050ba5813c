#include "cluster/cluster_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "system/files.h"
#include "system/pages.h"

namespace kdl::runtime {

ClusterMemory::ClusterMemory(int file, char* host, std::int64_t bytes, std::int64_t alignment)
    : file_(file),
      host_(host),
      bytes_(bytes),
      alignment_(alignment),
      free_{{alignment, bytes - alignment}} {}

ClusterMemory::~ClusterMemory() {
  UnmapPages(host_, bytes_);
  CloseFile(file_);
}

Error ClusterMemory::Make(std::int64_t bytes, std::int64_t alignment,
                          std::unique_ptr<ClusterMemory>* made) {
  const int file = NamelessFile("kdl-cluster-memory", bytes);
  // Seals the size, because if a cluster truncated the file, accesses by the host would fault.
  void* host = file >= 0 && SealFile(file, false) ? MapFile(file, bytes) : nullptr;
  if (host == nullptr) {
    const int why = errno;
    if (file >= 0) CloseFile(file);
    return Fail(KDL_ERROR_OUT_OF_MEMORY, "cannot allocate ", bytes,
                " bytes that clusters share: ", std::strerror(why));
  }
  made->reset(new ClusterMemory(file, static_cast<char*>(host), bytes, alignment));
  return nullptr;
}

std::int64_t ClusterMemory::Take(std::int64_t bytes) {
  if (bytes > bytes_) return 0;
  bytes = (std::max<std::int64_t>(bytes, 1) + alignment_ - 1) / alignment_ * alignment_;
  const std::lock_guard lock(mutex_);
  const auto chunk = std::find_if(free_.begin(), free_.end(),
                                  [bytes](const auto& one) { return one.second >= bytes; });
  if (chunk == free_.end()) return 0;
  const auto [offset, size] = *chunk;
  free_.erase(chunk);
  if (size > bytes) free_.emplace(offset + bytes, size - bytes);
  taken_.emplace(offset, bytes);
  return offset;
}

void ClusterMemory::Release(std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  const auto taken = taken_.find(offset);
  const std::int64_t bytes = taken->second;
  taken_.erase(taken);
  auto chunk = free_.emplace(offset, bytes).first;
  if (const auto next = std::next(chunk);
      next != free_.end() && next->first == offset + chunk->second) {
    chunk->second += next->second;
    free_.erase(next);
  }
  if (chunk == free_.begin()) return;
  const auto before = std::prev(chunk);
  if (before->first + before->second != offset) return;
  before->second += chunk->second;
  free_.erase(chunk);
}

}  // namespace kdl::runtime
