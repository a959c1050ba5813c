// Global memory of a cluster machine: a file without a name, which the host and all clusters map. Positions
// in it are offsets.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "core/error.h"

namespace kdl::runtime {

class ClusterMemory {
 public:
  // Allocations are aligned to `alignment`, a power of two.
  static Error Make(std::int64_t bytes, std::int64_t alignment,
                    std::unique_ptr<ClusterMemory>* made);
  ~ClusterMemory();
  ClusterMemory(const ClusterMemory&) = delete;
  ClusterMemory& operator=(const ClusterMemory&) = delete;

  // Allocates memory and returns its offset, which is never 0; 0 means that there is no free range of that
  // size.
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
  std::mutex mutex_;                            // guards the rest
  std::map<std::int64_t, std::int64_t> free_;   // offset -> bytes; neighbours are merged
  std::map<std::int64_t, std::int64_t> taken_;  // offset -> bytes
};

}  // namespace kdl::runtime
