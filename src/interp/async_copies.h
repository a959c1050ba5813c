#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

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
/// copy is awaited.
class AsyncCopies {
 public:
  using MbarrierId = std::pair<const ir::Value*, int64_t>;

  explicit AsyncCopies(int64_t threads) : of_threads_(static_cast<size_t>(threads)) {}

  void Begin(int64_t thread, AsyncCopy copy);
  void BeginAt(MbarrierId mbarrier, AsyncCopy copy);
  bool HasPending(int64_t thread) const {
    return !of_threads_[static_cast<size_t>(thread)].copies.empty();
  }
  void CommitGroup(int64_t thread) { ++ThreadAt(thread).groups; }
  /// Removes the copies that are awaited, and returns them.
  std::vector<AsyncCopy> End(int64_t thread, const AwaitedCopies& awaited);
  std::vector<AsyncCopy> EndAt(MbarrierId mbarrier);

 private:
  struct Thread {
    std::vector<AsyncCopy> copies;
    int64_t groups = 0;  ///< the number of committed groups
  };

  Thread& ThreadAt(int64_t thread) { return of_threads_[static_cast<size_t>(thread)]; }

  std::vector<Thread> of_threads_;
  std::map<MbarrierId, std::vector<AsyncCopy>> of_mbarriers_;
};

}  // namespace kdl::interp
