#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace kdl {

/// Owns objects of any type and destroys them in its destructor. Objects never move, so pointers to them stay
/// valid. Not thread-safe: each compilation has its own arena.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    for (auto it = cleanups_.rbegin(); it != cleanups_.rend(); ++it) {
      if (it->object != nullptr) it->destroy(it->object);
    }
  }

  template <class T, class... Args>
  T* Make(Args&&... args) {
    if constexpr (std::is_trivially_destructible_v<T>) {
      return new (Allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
    } else {
      // The cleanup entry is added first, so that no object can exist without one.
      cleanups_.push_back({nullptr, [](void* p) { static_cast<T*>(p)->~T(); }});
      const size_t place = cleanups_.size() - 1;
      T* object = new (Allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
      cleanups_[place].object = object;
      return object;
    }
  }

 private:
  struct Cleanup {
    void* object;
    void (*destroy)(void*);
  };
  static constexpr size_t kChunkBytes = size_t{64} << 10;

  void* Allocate(size_t bytes, size_t align) {
    size_t at = (used_ + align - 1) / align * align;
    if (chunks_.empty() || at + bytes > capacity_) {
      const size_t capacity = bytes + align > kChunkBytes ? bytes + align : kChunkBytes;
      chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(capacity));
      capacity_ = capacity;
      at = 0;
    }
    used_ = at + bytes;
    return chunks_.back().get() + at;
  }

  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::vector<Cleanup> cleanups_;
  size_t used_ = 0;
  size_t capacity_ = 0;
};

}  // namespace kdl
