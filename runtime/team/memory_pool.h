// Device memory that launches have given back, kept for those that follow: drivers take long to give memory and to take it back.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace kdl::runtime {

class MemoryPool {
 public:
  // How much to ask the driver for: pieces of a size go round.
  static std::int64_t Rounded(std::int64_t bytes);

  // A piece of `rounded` bytes that is kept; null: there is none.
  void* Take(std::int64_t rounded);
  // The driver has given this; false: the host has no memory to know it by, and it is the driver's again.
  bool Add(void* memory, std::int64_t rounded);
  // A piece that nothing uses any more; false: enough is kept, or the host has no memory to do so, and it is the driver's again.
  bool Keep(void* memory);
  // All that is kept, which is the driver's again.
  std::vector<void*> Empty();

 private:
  std::mutex mutex_;                               // guards the rest
  std::unordered_map<void*, std::int64_t> sizes_;  // of all pieces
  std::multimap<std::int64_t, void*> kept_;
  std::int64_t kept_bytes_ = 0;
};

}  // namespace kdl::runtime
