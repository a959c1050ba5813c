#pragma once

#include <cstdint>
#include <vector>

#include "tools/explain/rank_times.h"

namespace kdl::tools {

/// In place of a rank: each of them.
inline constexpr int64_t kEachRank = -1;

/// Simulates when ranks compute, send and wait, in the LogGP model. Each rank sends and receives one message after another,
/// but messages of other ranks never delay them: the network has no contention.
class RankClocks {
 public:
  RankClocks(const RankTimes& times, int64_t ranks)
      : times_(times), clocks_(static_cast<size_t>(ranks)) {
    if (ranks > 1) Compute(kEachRank, times.call);
  }

  /// A rank, or kEachRank, runs the blocks of a launch, or copies.
  void Launch(int64_t rank, double seconds) { Compute(rank, times_.launch + seconds); }
  void Copy(int64_t rank, double bytes) { Launch(rank, CopyTime(bytes)); }
  /// A rank packs elements and sends them. If they are not `is_new`, they belong to the message before this one.
  void Send(int64_t from, int64_t to, double bytes, bool is_new);
  /// Each rank waits for its messages and unpacks them. One rank alone has none.
  void FinishMessages();

  double Latest() const;         ///< the time at which the last rank has ended
  double MostComputing() const;  ///< the time in which a rank computes or copies, at most

 private:
  struct Clock {
    double now = 0;
    double computing = 0;
    double can_send = 0;     ///< when the next message can leave
    double can_receive = 0;  ///< when the next message can arrive
    double arrived = 0;      ///< when the last message has arrived
    double unpacking = 0;    ///< the time for the messages since FinishMessages
  };

  void Compute(int64_t rank, double seconds);
  double CopyTime(double bytes) const { return bytes * times_.copy_per_byte; }

  RankTimes times_;
  std::vector<Clock> clocks_;
};

}  // namespace kdl::tools
