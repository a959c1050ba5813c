#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/op.h"

namespace kdl::interp {

/// The mbarriers of a workgroup, and the buffer slots whose use they order. For each GPU thread, a vector
/// clock tracks which actions of other threads are known to be complete. These are the actions before a
/// barrier, and before an arrival at an mbarrier whose phase the thread has awaited. If a thread changes a
/// slot whose earlier users are not known to have finished, a pass has forgotten to insert an mbarrier. This
/// is a fault. The functions return the fault as text, or an empty string if there is none.
class WorkgroupMbarriers {
 public:
  /// Identifies the slice of a buffer that one value of its first index selects.
  using SlotId = std::pair<const ir::Value*, int64_t>;
  using MbarrierId = SlotId;

  explicit WorkgroupMbarriers(int64_t threads) : clocks_(static_cast<size_t>(threads)) {
    for (Thread& thread : clocks_) thread.clock.times.assign(clocks_.size(), 0);
    for (size_t w = 0; w < clocks_.size(); ++w) clocks_[w].clock.times[w] = 1;
  }

  std::string Open(int64_t thread, const ir::Value* mbarriers, int64_t count, int64_t arrivals);
  std::string Close(int64_t thread, const ir::Value* mbarriers);
  std::string Arrive(int64_t thread, MbarrierId mbarrier);
  /// Sets `*waits` to true if the thread must wait because the phase has not ended, otherwise to false.
  std::string Await(int64_t thread, MbarrierId mbarrier, int64_t phase, bool* waits);

  /// Returns whether copies have arrived at the mbarrier in a phase for which no thread has waited.
  bool HasUnawaitedCopies(MbarrierId mbarrier) const;

  /// Records that the thread starts a copy that fills the slot, and that it arrives at the mbarrier.
  std::string Fill(int64_t thread, SlotId slot, MbarrierId mbarrier);
  std::string Write(int64_t thread, SlotId slot);
  void Show(int64_t thread);
  /// Records that an mma step of the thread starts to read the slot.
  std::string Read(int64_t thread, SlotId slot);
  void MmaCommit(int64_t thread);
  void MmaWait(int64_t thread, int64_t ahead);

  /// Records that all threads are at a barrier.
  void Meet();
  /// Increases whenever a waiting thread may be able to continue.
  uint64_t progress() const { return progress_; }

 private:
  struct Clock {
    std::vector<int64_t> times;  ///< for each thread, the time up to which its actions are known
    /// For each slot, the number of the last tile copy that is known to have arrived.
    std::map<SlotId, int64_t> tensor_tiles;
    void Join(const Clock& other);
  };
  struct Thread {
    Clock clock;
    std::set<SlotId> steps;  ///< the slots that mma steps outside of a committed group read
    std::vector<std::set<SlotId>> groups;  ///< the slots that each pending group of mma steps reads
    std::set<SlotId> unshown;
  };
  struct Mbarrier {
    int64_t arrivals = 0;
    int64_t come = 0;
    int64_t phase = 0;  ///< the number of the current phase
    Clock arriving;
    Clock over;
    /// The tile copies that will arrive in the current phase.
    std::vector<std::pair<SlotId, int64_t>> tensor_tiles;
    /// Whether copies have arrived that no thread has awaited.
    bool unawaited = false;
    int64_t opener = 0;
    /// The number of the interval between barriers in which the mbarrier was initialized.
    uint64_t interval = 0;
    /// For each thread, the interval in which it last used the mbarrier.
    std::map<int64_t, uint64_t> visits;
  };
  struct Slot {
    int64_t tensor_tile = 0;             ///< the number of the last tile copy into the slot
    bool is_tensor_tile = false;         ///< whether the slot's contents come from a tile copy
    std::map<int64_t, int64_t> readers;  ///< the threads that have read the slot, and when
    /// The threads that have read the previous contents, and when.
    std::map<int64_t, int64_t> before;
    std::map<int64_t, int64_t> writers;
    std::set<int64_t> hidden;              ///< writers that have not made their writes visible yet
    std::map<int64_t, int64_t> under_way;  ///< for each thread, the number of its pending mma steps
  };

  Thread& ThreadAt(int64_t thread) { return clocks_[static_cast<size_t>(thread)]; }
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
