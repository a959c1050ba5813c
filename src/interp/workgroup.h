#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "interp/async_copies.h"
#include "interp/core.h"
#include "interp/mbarriers.h"
#include "interp/watch.h"

namespace kdl::interp {

/// What the GPU threads of one core share: their memory, and a record of which threads have accessed it since
/// the last barrier. If two threads access an element without a barrier in between, and one of them changes
/// it, a pass has forgotten a barrier. In this case, the core is stopped.
class Workgroup {
 public:
  explicit Workgroup(int64_t threads) : threads_(threads), mbarriers_(threads), copies_(threads) {}

  /// Returns the memory of a workgroup's buffer. Each execution of its op returns the same memory.
  Buffer& Memory(const ir::Value* buffer, size_t elements);
  Buffer& Memory(const ir::Value* buffer) { return memories_.at(buffer).buffer; }

  /// Record an access. If the access is a race, these functions stop the core and return false.
  bool TouchPanels(Core& core, const Instruction& instruction, const ir::Value* buffer,
                   TouchKind kind);
  bool TouchBuffer(Core& core, const Instruction& instruction, const ir::Value* buffer,
                   int64_t offset, TouchKind kind);
  bool TouchTensor(Core& core, const Instruction& instruction, const std::byte* address,
                   TouchKind kind);

  AsyncCopies& copies() { return copies_; }
  /// Writes the elements of a copy that the core's thread has awaited.
  void Complete(Core& core, const Instruction& instruction, const AsyncCopy& copy);

  /// Starts a new interval, because all threads are at a barrier.
  void NextInterval() {
    ++interval_;
    mbarriers_.Meet();
  }
  WorkgroupMbarriers& mbarriers() { return mbarriers_; }
  /// Records that no thread can continue. From then on, a thread that waits at an mbarrier reports an error
  /// instead of waiting again.
  void SetStuck() { stuck_ = true; }
  bool is_stuck() const { return stuck_; }
  /// Stops the core because its thread made an error, which `what` describes. Returns false.
  bool Stop(Core& core, const Instruction& instruction, std::string_view what) const;
  int64_t threads() const { return threads_; }

 private:
  static constexpr int64_t kNobody = -1;
  static constexpr int64_t kSeveral = -2;
  /// The threads that accessed an element in the last interval in which any thread accessed it.
  struct Mark {
    uint64_t interval = 0;
    int64_t reader = kNobody;
    int64_t writer = kNobody;
    int64_t updater = kNobody;
  };
  struct Shared {
    Buffer buffer;
    std::vector<Mark> marks;
  };

  bool Touch(Core& core, const Instruction& instruction, Mark& mark, TouchKind kind);

  int64_t threads_;
  WorkgroupMbarriers mbarriers_;
  AsyncCopies copies_;
  bool stuck_ = false;
  uint64_t interval_ = 1;
  std::unordered_map<const ir::Value*, Shared> memories_;
  std::unordered_map<const std::byte*, Mark> tensors_;
};

}  // namespace kdl::interp
