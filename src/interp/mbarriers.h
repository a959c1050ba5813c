#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "interp/race_detector.h"

namespace kdl::interp {

/// The mbarriers of a workgroup. An arrival tells the threads that await its phase, through the race detector, what the
/// arriving thread has done before. Functions that return a string return the fault, or an empty string if there is none.
class WorkgroupMbarriers {
 public:
  /// The buffer of mbarriers, and the number of one of them.
  using MbarrierId = std::pair<const ir::Value*, int64_t>;

  WorkgroupMbarriers(RaceDetector& races, int64_t threads) : races_(races), threads_(threads) {}

  std::string Open(int64_t thread, const ir::Value* mbarriers, int64_t count, int64_t arrivals);
  std::string Close(int64_t thread, const ir::Value* mbarriers);
  std::string Arrive(int64_t thread, MbarrierId id);
  /// Sets `*waits` to true if the thread must wait because the phase has not ended, otherwise to false.
  std::string Await(int64_t thread, MbarrierId id, int64_t phase, bool* waits);

  /// Returns whether copies have arrived at the mbarrier in a phase for which no thread has waited.
  bool HasUnawaitedCopies(MbarrierId id) const;
  /// Records that the thread starts a copy that fills the slot, and that it arrives at the mbarrier.
  std::string Fill(int64_t thread, RaceDetector::SlotId slot, MbarrierId id);

  /// Increases whenever a waiting thread may be able to continue.
  uint64_t progress() const { return progress_; }

 private:
  struct Mbarrier {
    int64_t arrivals = 0;
    int64_t come = 0;
    int64_t phase = 0;  ///< the number of the current phase
    Clock arriving;
    Clock over;
    std::vector<Epoch> copies;  ///< the ends of the tile copies that arrive in the current phase
    bool unawaited = false;     ///< whether copies have arrived that no thread has awaited
    Epoch opened;
    std::map<int64_t, Epoch> visits;  ///< when each thread last used the mbarrier
  };

  std::string Visit(int64_t thread, MbarrierId id);
  void Come(int64_t thread, Mbarrier& mbarrier);

  RaceDetector& races_;
  int64_t threads_;
  std::map<MbarrierId, Mbarrier> mbarriers_;
  uint64_t progress_ = 0;
};

}  // namespace kdl::interp
