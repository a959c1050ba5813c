#include "interp/mbarriers.h"

#include <fmt/format.h>

namespace kdl::interp {

std::string WorkgroupMbarriers::Open(int64_t thread, const ir::Value* mbarriers, int64_t count,
                                     int64_t arrivals) {
  for (int64_t number = 0; number < count; ++number) {
    auto [mbarrier, is_new] = mbarriers_.try_emplace(MbarrierId{mbarriers, number});
    if (!is_new) return "initializes mbarriers that are already initialized";
    mbarrier->second.arrivals = arrivals;
    mbarrier->second.opened = races_.Now(thread);
  }
  return "";
}

std::string WorkgroupMbarriers::Close(int64_t thread, const ir::Value* mbarriers) {
  for (int64_t other = 0; other < threads_; ++other) {
    if (races_.Multiplies(other))
      return "invalidates mbarriers while asynchronous matrix instructions are running";
  }
  auto first = mbarriers_.lower_bound({mbarriers, 0});
  if (first == mbarriers_.end() || first->first.first != mbarriers)
    return "invalidates mbarriers that are not initialized";
  while (first != mbarriers_.end() && first->first.first == mbarriers) {
    const Mbarrier& mbarrier = first->second;
    if (mbarrier.unawaited || !mbarrier.copies.empty())
      return "invalidates an mbarrier while no thread has waited for its tile copy";
    for (const auto& [visitor, when] : mbarrier.visits) {
      if (!races_.Knows(thread, when))
        return fmt::format(
            "invalidates an mbarrier that thread {} has used, without a barrier in between",
            visitor);
    }
    first = mbarriers_.erase(first);
  }
  return "";
}

std::string WorkgroupMbarriers::Visit(int64_t thread, MbarrierId id) {
  auto found = mbarriers_.find(id);
  if (found == mbarriers_.end()) return "uses an mbarrier that is not initialized";
  Mbarrier& mbarrier = found->second;
  if (!races_.Knows(thread, mbarrier.opened))
    return fmt::format(
        "uses an mbarrier that thread {} has initialized, without a barrier in between",
        mbarrier.opened.agent);
  mbarrier.visits[thread] = races_.Now(thread);
  return "";
}

void WorkgroupMbarriers::Come(int64_t thread, Mbarrier& mbarrier) {
  races_.Release(thread, mbarrier.arriving);
  ++progress_;
  if (++mbarrier.come < mbarrier.arrivals) return;
  for (const Epoch& copy : mbarrier.copies) mbarrier.arriving.Advance(copy);
  mbarrier.unawaited = !mbarrier.copies.empty();
  mbarrier.copies.clear();
  mbarrier.over.Join(mbarrier.arriving);
  mbarrier.come = 0;
  ++mbarrier.phase;
}

std::string WorkgroupMbarriers::Arrive(int64_t thread, MbarrierId id) {
  std::string fault = Visit(thread, id);
  if (fault.empty()) Come(thread, mbarriers_.at(id));
  return fault;
}

std::string WorkgroupMbarriers::Await(int64_t thread, MbarrierId id, int64_t phase, bool* waits) {
  if (std::string fault = Visit(thread, id); !fault.empty()) return fault;
  Mbarrier& mbarrier = mbarriers_.at(id);
  *waits = mbarrier.phase == phase;
  if (*waits) return "";
  if (mbarrier.phase != phase + 1)
    return fmt::format("waits for phase {} of an mbarrier that is in phase {}", phase,
                       mbarrier.phase);
  races_.Acquire(thread, mbarrier.over);
  mbarrier.unawaited = false;
  ++progress_;
  return "";
}

bool WorkgroupMbarriers::HasUnawaitedCopies(MbarrierId id) const {
  auto found = mbarriers_.find(id);
  return found != mbarriers_.end() && found->second.unawaited;
}

std::string WorkgroupMbarriers::Fill(int64_t thread, RaceDetector::SlotId slot, MbarrierId id) {
  if (std::string fault = Visit(thread, id); !fault.empty()) return fault;
  Mbarrier& mbarrier = mbarriers_.at(id);
  if (mbarrier.unawaited)
    return "starts a tile copy with an mbarrier whose previous tile copy no thread has waited for";
  Epoch arrival;
  if (std::string fault = races_.FillSlot(thread, slot, &arrival); !fault.empty()) return fault;
  mbarrier.copies.push_back(arrival);
  Come(thread, mbarrier);
  return "";
}

}  // namespace kdl::interp
