#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/op.h"

namespace kdl::interp {

/// Mbarriers of a team, and the slots of buffers that are used in the order which they tell. Who knows what of whom: a worker knows
/// what others did before they came to a gate whose phase it has awaited, or to a barrier. What a worker does to a slot without
/// knowing that those before it are done with it is a fault: a pass has forgotten a gate. Faults are what the functions
/// return; empty: there is none.
class WorkgroupMbarriers {
 public:
  /// A buffer's part of a first index.
  using SlotId = std::pair<const ir::Value*, int64_t>;
  using MbarrierId = SlotId;

  explicit WorkgroupMbarriers(int64_t threads) : clocks_(static_cast<size_t>(threads)) {
    for (Thread& thread : clocks_) thread.clock.times.assign(clocks_.size(), 0);
    for (size_t w = 0; w < clocks_.size(); ++w) clocks_[w].clock.times[w] = 1;
  }

  std::string Open(int64_t thread, const ir::Value* mbarriers, int64_t count, int64_t arrivals);
  std::string Close(int64_t thread, const ir::Value* mbarriers);
  std::string Arrive(int64_t thread, MbarrierId mbarrier);
  /// `waits`: the phase is not over.
  std::string Await(int64_t thread, MbarrierId mbarrier, int64_t phase, bool* waits);

  /// The worker begins to copy a box into the slot, and comes to the gate.
  std::string Fill(int64_t thread, SlotId slot, MbarrierId mbarrier);
  std::string Write(int64_t thread, SlotId slot);
  void Show(int64_t thread);
  /// A step of the worker's begins to read the slot.
  std::string Read(int64_t thread, SlotId slot);
  void MmaCommit(int64_t thread);
  void MmaWait(int64_t thread, int64_t ahead);

  /// All workers are at a barrier.
  void Meet();
  /// Grows with all that may let somebody go on.
  uint64_t progress() const { return progress_; }

 private:
  struct Clock {
    std::vector<int64_t> times;  ///< of each worker what is known of it
    std::map<SlotId, int64_t>
        tensor_tiles;  ///< the number of the last one that is known to be there
    void Join(const Clock& other);
  };
  struct Thread {
    Clock clock;
    std::set<SlotId> steps;                ///< that read these, and are in no group yet
    std::vector<std::set<SlotId>> groups;  ///< under way
    std::set<SlotId> unshown;
  };
  struct Mbarrier {
    int64_t arrivals = 0;
    int64_t come = 0;
    int64_t phase = 0;  ///< the present one
    Clock arriving;
    Clock over;
    std::vector<std::pair<SlotId, int64_t>> tensor_tiles;  ///< that come in the present phase
    bool unawaited = false;                                ///< boxes have come, and nobody knows
    int64_t opener = 0;
    uint64_t interval = 0;               ///< in which it was opened
    std::map<int64_t, uint64_t> visits;  ///< of each worker the interval of the last one
  };
  struct Slot {
    int64_t tensor_tile = 0;             ///< the number of the last one
    bool is_tensor_tile = false;         ///< what is there
    std::map<int64_t, int64_t> readers;  ///< and when
    std::map<int64_t, int64_t> before;   ///< readers of what was there before
    std::map<int64_t, int64_t> writers;
    std::set<int64_t> hidden;              ///< writers that have not shown what they wrote
    std::map<int64_t, int64_t> under_way;  ///< steps of a worker's
  };

  Thread& Of(int64_t thread) { return clocks_[static_cast<size_t>(thread)]; }
  bool Knows(int64_t thread, const std::map<int64_t, int64_t>& others);
  std::string Visit(int64_t thread, MbarrierId mbarrier);
  void Come(int64_t thread, Mbarrier& mbarrier);
  std::string MayChange(int64_t thread, SlotId id, Slot& slot);

  std::vector<Thread> clocks_;
  std::map<MbarrierId, Mbarrier> mbarriers_;
  std::map<SlotId, Slot> slots_;
  uint64_t interval_ = 1;
  uint64_t progress_ = 0;
};

}  // namespace kdl::interp
