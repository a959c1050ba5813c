#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interp/watch.h"
#include "ir/op.h"

namespace kdl::interp {

/// When an agent did something, in the agent's own time. Agents are the GPU threads of a workgroup, and the tile copies
/// into each slot of a ring buffer.
struct Epoch {
  int64_t agent = -1;
  int64_t time = 0;
};

/// Up to which time the actions of each agent are known to be complete.
class Clock {
 public:
  int64_t TimeOf(int64_t agent) const;
  void Advance(Epoch to);
  void Join(const Clock& other);
  void Forget() { times_.clear(); }

 private:
  std::vector<int64_t> times_;
};

/// The last accesses of one kind, at most one for each agent.
class Epochs {
 public:
  void Add(Epoch epoch, const Clock& known_to_all);
  template <class Visit>
  void Each(Visit&& visit) const {
    if (first_.agent >= 0) visit(first_);
    if (others_) {
      for (const Epoch& epoch : *others_) visit(epoch);
    }
  }

 private:
  Epoch first_;
  std::unique_ptr<std::vector<Epoch>>
      others_;  ///< null for most elements, because that needs less memory
};

/// The accesses to an element after which later accesses must come.
struct Mark {
  Epochs readers;
  Epochs writers;
  Epochs updaters;
  int32_t copies_in =
      0;  ///< the number of asynchronous copies that have not written the element yet
  int32_t copies_out = 0;  ///< the number of those that have not read it yet
};

/// Finds races between the GPU threads of a workgroup, the asynchronous copies that they start, and their matrix
/// instructions. For each thread, a vector clock tracks which actions of others are known to be complete: those before a
/// barrier, and those before an arrival at an mbarrier whose phase the thread has awaited. If an access is not known to
/// come after an earlier one, and one of them changes the element, a pass has forgotten a barrier, an mbarrier, a wait or a
/// fence. Functions that return a string return the fault, or an empty string if there is none.
class RaceDetector {
 public:
  /// A slot: the part of a buffer that one value of its first index selects. Tile copies fill whole slots and matrix instructions
  /// read them, so these accesses are recorded for slots.
  using SlotId = std::pair<const ir::Value*, int64_t>;

  explicit RaceDetector(int64_t threads)
      : threads_(static_cast<size_t>(threads)), next_agent_(threads) {}

  /// The time of the thread, which a barrier or an arrival at an mbarrier increases.
  Epoch Now(int64_t thread) const { return {thread, ThreadAt(thread).now}; }
  /// Returns whether what happened in the epoch is known to the thread.
  bool Knows(int64_t thread, Epoch epoch) const;

  /// Records an access of a thread to an element.
  std::string Touch(int64_t thread, Mark& mark, TouchKind kind);
  /// Records that a copy starts or ends which writes the element, or else reads it.
  static void BeginCopy(Mark& mark, bool writes) { ++(writes ? mark.copies_in : mark.copies_out); }
  static void EndCopy(Mark& mark, bool writes) { --(writes ? mark.copies_in : mark.copies_out); }

  // -- Slots --------------------------------------------------------------------------------------

  std::string LoadFromSlot(int64_t thread, SlotId id);
  std::string StoreToSlot(int64_t thread, SlotId id);
  /// Records that the thread makes its stores visible to matrix instructions.
  void ProxyFence(int64_t thread);
  /// Records that a tile copy of the thread starts to fill the slot, and sets `*arrival` to the epoch in which it ends.
  std::string FillSlot(int64_t thread, SlotId id, Epoch* arrival);
  /// Records that a matrix instruction of the thread starts to read the slot.
  std::string MultiplySlot(int64_t thread, SlotId id);
  void MmaCommit(int64_t thread);
  void MmaWait(int64_t thread, int64_t ahead);
  /// Returns whether the thread has not awaited all of its matrix instructions.
  bool Multiplies(int64_t thread) const;

  // -- Order --------------------------------------------------------------------------------------

  /// All threads are at a barrier.
  void Meet();
  /// Adds to `clock` what the thread knows.
  void Release(int64_t thread, Clock& clock);
  /// The thread knows what is in `clock`.
  void Acquire(int64_t thread, const Clock& clock) { ThreadAt(thread).clock.Join(clock); }

 private:
  struct Thread {
    int64_t now = 1;
    Clock clock;  ///< what the thread has learned since the last barrier
    std::set<SlotId>
        steps;  ///< the slots that matrix instructions outside of a committed group read
    std::vector<std::set<SlotId>> groups;  ///< the slots that each pending group reads
    std::set<SlotId> unshown;              ///< slots to which it has stored since its last fence
  };
  struct Slot {
    Epochs readers;  ///< the matrix instructions, in the epochs in which their threads awaited them
    Epochs writers;  ///< the threads that have stored to it since the last tile copy
    Epoch copy;      ///< the last tile copy
    std::set<int64_t> hidden;  ///< threads whose stores are not visible to matrix instructions yet
    std::map<int64_t, int64_t>
        under_way;  ///< for each thread, the number of its pending instructions
  };

  Thread& ThreadAt(int64_t thread) { return threads_[static_cast<size_t>(thread)]; }
  const Thread& ThreadAt(int64_t thread) const { return threads_[static_cast<size_t>(thread)]; }
  bool KnowsAll(int64_t thread, const Epochs& epochs) const;
  std::string Race(int64_t thread, const Epochs& others, const char* what) const;
  std::string MayChange(int64_t thread, const Slot& slot) const;

  std::vector<Thread> threads_;
  Clock met_;  ///< what all threads know since the last barrier
  std::map<SlotId, Slot> slots_;
  int64_t next_agent_;
};

}  // namespace kdl::interp
