#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interp/core.h"
#include "interp/mbarriers.h"
#include "interp/watch.h"

namespace kdl::interp {

/// What the workers of one core share: memory, and who has touched what since the last barrier. A touch that no barrier orders
/// after another worker's, one of which changes the element, stops the core: a pass has forgotten a barrier.
class Workgroup {
 public:
  explicit Workgroup(int64_t threads) : threads_(threads), mbarriers_(threads) {}

  /// A buffer of the team's: each run of its op gives the same memory.
  Buffer& Memory(const ir::Value* buffer, size_t elements);
  Buffer& Memory(const ir::Value* buffer) { return memories_.at(buffer).buffer; }

  /// False, with the core stopped, where that is a race.
  bool TouchPanels(Core& core, const Instruction& instruction, const ir::Value* buffer,
                   TouchKind kind);
  bool TouchBuffer(Core& core, const Instruction& instruction, const ir::Value* buffer,
                   int64_t offset, TouchKind kind);
  bool TouchTensor(Core& core, const Instruction& instruction, const std::byte* address,
                   TouchKind kind);

  // Block copies: an element of a buffer comes when it is awaited, and until then nobody touches it or changes its source.
  void BeginCopy(Core& core, const Instruction& instruction, const ir::Value* buffer,
                 int64_t offset, const std::byte* from);
  /// Of the elements from `first` up to `end`.
  void AwaitCopies(Core& core, const Instruction& instruction, const ir::Value* buffer,
                   int64_t first, int64_t end);

  /// All workers are at a barrier.
  void NextInterval() {
    ++interval_;
    mbarriers_.Meet();
  }
  WorkgroupMbarriers& mbarriers() { return mbarriers_; }
  /// Nobody goes on by itself: who waits at a gate is stopped.
  void SetStuck() { stuck_ = true; }
  bool is_stuck() const { return stuck_; }
  /// Stops the core for what its worker does; gives false.
  bool Stop(Core& core, const Instruction& instruction, const std::string& what) const;
  int64_t threads() const { return threads_; }

 private:
  static constexpr int64_t kNobody = -1;
  static constexpr int64_t kSeveral = -2;
  /// Of the last interval in which the element was touched: who has.
  struct Mark {
    uint64_t interval = 0;
    int64_t reader = kNobody;
    int64_t writer = kNobody;
    int64_t updater = kNobody;
  };
  struct Shared {
    Buffer buffer;
    std::vector<Mark> marks;
    std::map<int64_t, const std::byte*> coming;  ///< elements on their way, and where from
  };

  bool Touch(Core& core, const Instruction& instruction, Mark& mark, TouchKind kind);

  int64_t threads_;
  WorkgroupMbarriers mbarriers_;
  bool stuck_ = false;
  uint64_t interval_ = 1;
  std::unordered_map<const ir::Value*, Shared> memories_;
  std::unordered_map<const std::byte*, Mark> tensors_;
  std::unordered_multiset<const std::byte*> sources_;  ///< of elements on their way
};

}  // namespace kdl::interp
