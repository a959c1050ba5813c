#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "interp/watch.h"
#include "ir/op.h"

namespace kdl::interp {

/// An asynchronous copy between a tensor and a buffer of a workgroup.
struct AsyncCopy {
  struct Element {
    int64_t offset = 0;            ///< in the buffer
    std::byte* address = nullptr;  ///< in the tensor; null outside of it, where the element is 0
  };
  const ir::Value* buffer = nullptr;
  bool in = true;  ///< whether it copies into the buffer
  std::vector<Element> elements;
  int64_t group = 0;  ///< the number of the thread's group to which it belongs
};

/// The copies that an `async_copy_wait` awaits, of those that its thread has started.
struct AwaitedCopies {
  const ir::Value* buffer = nullptr;
  bool in = true;                ///< those into the buffer, otherwise those out of it
  std::optional<int64_t> slot;   ///< only those in this slot of the buffer
  std::optional<int64_t> ahead;  ///< not those of the last groups, or without a group
};

/// The asynchronous copies of a workgroup that have been started and not been awaited. Either the thread that
/// starts a copy waits for it, or the copy arrives at an mbarrier. What a copy writes is written only when the
/// copy is awaited. Until then, no thread may access these elements or change those that the copy reads.
class AsyncCopies {
 public:
  using MbarrierId = std::pair<const ir::Value*, int64_t>;

  explicit AsyncCopies(int64_t threads) : of_threads_(static_cast<size_t>(threads)) {}

  void Begin(int64_t thread, AsyncCopy copy);
  void BeginAt(MbarrierId mbarrier, AsyncCopy copy);
  bool HasPending(int64_t thread) { return !ThreadAt(thread).copies.empty(); }
  void CommitGroup(int64_t thread) { ++ThreadAt(thread).groups; }
  /// Removes the copies that are awaited, and returns them.
  std::vector<AsyncCopy> End(int64_t thread, const AwaitedCopies& awaited);
  std::vector<AsyncCopy> EndAt(MbarrierId mbarrier);

  /// Return why an element must not be accessed, or an empty string if it may be.
  std::string_view FaultAt(const ir::Value* buffer, int64_t offset, TouchKind kind) const;
  std::string_view FaultAt(const std::byte* address, TouchKind kind) const;

 private:
  struct Thread {
    std::vector<AsyncCopy> copies;
    int64_t groups = 0;  ///< the number of committed groups
  };

  Thread& ThreadAt(int64_t thread) { return of_threads_[static_cast<size_t>(thread)]; }
  void Protect(const AsyncCopy& copy);
  void Release(const AsyncCopy& copy);

  std::vector<Thread> of_threads_;
  std::map<MbarrierId, std::vector<AsyncCopy>> of_mbarriers_;
  /// For each buffer, the offsets of elements that a copy writes (true) or reads (false).
  std::unordered_map<const ir::Value*, std::unordered_multimap<int64_t, bool>> in_buffers_;
  /// The elements of tensors that copies read, and those that they write.
  std::unordered_multiset<const std::byte*> sources_;
  std::unordered_multiset<const std::byte*> targets_;
};

}  // namespace kdl::interp
