// Global memory of a cluster machine: an unnamed file that the host and all clusters map. Addresses in it are
// offsets from its start.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "core/error.h"

namespace kdl::runtime {

class ClusterMemory {
 public:
  // Creates the memory. Allocations are aligned to `alignment`, which must be a power of two.
  static Error Make(std::int64_t bytes, std::int64_t alignment,
                    std::unique_ptr<ClusterMemory>* made);
  ~ClusterMemory();
  ClusterMemory(const ClusterMemory&) = delete;
  ClusterMemory& operator=(const ClusterMemory&) = delete;

  // Allocates memory and returns its offset. If no free range is large enough, returns 0, which is never the
  // offset of an allocation.
  std::int64_t Take(std::int64_t bytes);
  void Release(std::int64_t offset);

  char* At(std::int64_t offset) const { return host_ + offset; }
  std::int64_t bytes() const { return bytes_; }
  int file() const { return file_; }

 private:
  ClusterMemory(int file, char* host, std::int64_t bytes, std::int64_t alignment);

  int file_;
  char* host_;
  std::int64_t bytes_;
  std::int64_t alignment_;
  std::mutex mutex_;  // guards the members below
  // From offset to size in bytes; adjacent ranges are merged.
  std::map<std::int64_t, std::int64_t> free_;
  std::map<std::int64_t, std::int64_t> taken_;  // from offset to size in bytes
};

}  // namespace kdl::runtime
