// Device memory that launches have released. It is kept for later launches, because drivers are slow to
// allocate and free memory.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace kdl::runtime {

class MemoryPool {
 public:
  // Returns the size to request from the driver. Sizes are rounded so that chunks can be reused.
  static std::int64_t Rounded(std::int64_t bytes);

  // Takes a kept chunk of `rounded` bytes. Returns null if there is none.
  void* Take(std::int64_t rounded);
  // Registers memory that the driver has allocated. Returns false if host memory runs out; the caller must
  // then free the memory.
  bool Add(void* memory, std::int64_t rounded);
  // Keeps a chunk that is no longer used. Returns false if enough chunks are kept or host memory runs out;
  // the caller must then free the chunk.
  bool Keep(void* memory);
  // Removes and returns all kept chunks, which the caller must free.
  std::vector<void*> Empty();

 private:
  std::mutex mutex_;                               // guards the members below
  std::unordered_map<void*, std::int64_t> sizes_;  // the size of every chunk, kept or in use
  std::multimap<std::int64_t, void*> kept_;
  std::int64_t kept_bytes_ = 0;
};

}  // namespace kdl::runtime
