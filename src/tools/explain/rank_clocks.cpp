#include "tools/explain/rank_clocks.h"

#include <algorithm>

namespace kdl::tools {

void RankClocks::Compute(int64_t rank, double seconds) {
  auto compute = [&](Clock& clock) {
    clock.now += seconds;
    clock.computing += seconds;
  };
  if (rank == kEachRank) return static_cast<void>(std::ranges::for_each(clocks_, compute));
  compute(clocks_[static_cast<size_t>(rank)]);
}

void RankClocks::Send(int64_t from, int64_t to, double bytes, bool is_new) {
  Clock& sender = clocks_[static_cast<size_t>(from)];
  Clock& receiver = clocks_[static_cast<size_t>(to)];
  double overhead = is_new ? times_.overhead : 0;
  double gap = is_new ? times_.gap : 0;
  double length = bytes * times_.gap_per_byte;
  sender.now += overhead + CopyTime(bytes);
  double leaves = std::max(sender.now, sender.can_send);
  sender.can_send = leaves + gap + length;
  double arrives = std::max(leaves + times_.latency, receiver.can_receive) + length;
  receiver.can_receive = arrives + gap;
  receiver.arrived = std::max(receiver.arrived, arrives);
  receiver.unpacking += overhead + CopyTime(bytes);
}

void RankClocks::FinishMessages() {
  if (clocks_.size() > 1) Compute(kEachRank, times_.exchange);
  for (Clock& clock : clocks_) {
    clock.now = std::max(clock.now, clock.arrived) + clock.unpacking;
    clock.unpacking = 0;
  }
}

double RankClocks::Latest() const { return std::ranges::max(clocks_, {}, &Clock::now).now; }

double RankClocks::MostComputing() const {
  return std::ranges::max(clocks_, {}, &Clock::computing).computing;
}

}  // namespace kdl::tools
