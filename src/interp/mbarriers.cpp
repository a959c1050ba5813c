#include "interp/mbarriers.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/views.h"

namespace kdl::interp {

void WorkgroupMbarriers::Clock::Join(const Clock& other) {
  if (times.empty()) times.assign(other.times.size(), 0);
  for (size_t w = 0; w < other.times.size(); ++w) times[w] = std::max(times[w], other.times[w]);
  for (const auto& [slot, tensor_tile] : other.tensor_tiles)
    tensor_tiles[slot] = std::max(tensor_tiles[slot], tensor_tile);
}

bool WorkgroupMbarriers::Knows(int64_t thread, const std::map<int64_t, int64_t>& others) {
  const std::vector<int64_t>& times = ThreadAt(thread).clock.times;
  return std::ranges::all_of(others, [&](const auto& other) {
    return other.first == thread || times[static_cast<size_t>(other.first)] >= other.second;
  });
}

std::string WorkgroupMbarriers::Open(int64_t thread, const ir::Value* mbarriers, int64_t count,
                                     int64_t arrivals) {
  for (int64_t number = 0; number < count; ++number) {
    auto [mbarrier, is_new] = mbarriers_.try_emplace(MbarrierId{mbarriers, number});
    if (!is_new) return "initializes mbarriers that are already initialized";
    mbarrier->second.arrivals = arrivals;
    mbarrier->second.opener = thread;
    mbarrier->second.interval = interval_;
  }
  return "";
}

std::string WorkgroupMbarriers::Close(int64_t thread, const ir::Value* mbarriers) {
  bool steps = std::ranges::any_of(
      clocks_, [](const Thread& each) { return !each.steps.empty() || !each.groups.empty(); });
  if (steps) return "invalidates mbarriers while asynchronous matrix instructions are running";
  auto first = mbarriers_.lower_bound({mbarriers, 0});
  if (first == mbarriers_.end() || first->first.first != mbarriers)
    return "invalidates mbarriers that are not initialized";
  while (first != mbarriers_.end() && first->first.first == mbarriers) {
    const Mbarrier& mbarrier = first->second;
    if (mbarrier.unawaited || !mbarrier.tensor_tiles.empty())
      return "invalidates an mbarrier while no thread has waited for its tile copy";
    for (const auto& [visitor, interval] : mbarrier.visits) {
      if (visitor != thread && interval == interval_)
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
  if (mbarrier.opener != thread && mbarrier.interval == interval_)
    return fmt::format(
        "uses an mbarrier that thread {} has initialized, without a barrier in between",
        mbarrier.opener);
  mbarrier.visits[thread] = interval_;
  return "";
}

void WorkgroupMbarriers::Come(int64_t thread, Mbarrier& mbarrier) {
  Clock& clock = ThreadAt(thread).clock;
  mbarrier.arriving.Join(clock);
  ++clock.times[static_cast<size_t>(thread)];
  ++progress_;
  if (++mbarrier.come < mbarrier.arrivals) return;
  for (const auto& [slot, tensor_tile] : mbarrier.tensor_tiles)
    mbarrier.arriving.tensor_tiles[slot] = tensor_tile;
  mbarrier.unawaited = !mbarrier.tensor_tiles.empty();
  mbarrier.tensor_tiles.clear();
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
  ThreadAt(thread).clock.Join(mbarrier.over);
  mbarrier.unawaited = false;
  ++progress_;
  return "";
}

bool WorkgroupMbarriers::HasUnawaitedCopies(MbarrierId id) const {
  auto found = mbarriers_.find(id);
  return found != mbarriers_.end() && found->second.unawaited;
}

std::string WorkgroupMbarriers::MayChange(int64_t thread, SlotId id, Slot& slot) {
  if (!slot.under_way.empty())
    return fmt::format("changes elements that matrix instructions of thread {} are reading",
                       slot.under_way.begin()->first);
  if (!Knows(thread, slot.readers) || !Knows(thread, slot.before))
    return "changes elements that other threads have read, without an mbarrier in between";
  if (slot.is_tensor_tile && ThreadAt(thread).clock.tensor_tiles[id] != slot.tensor_tile)
    return "changes elements of a tile copy for which it has not waited";
  return "";
}

std::string WorkgroupMbarriers::Fill(int64_t thread, SlotId id, MbarrierId mbarrier_id) {
  if (std::string fault = Visit(thread, mbarrier_id); !fault.empty()) return fault;
  Slot& slot = slots_[id];
  if (std::string fault = MayChange(thread, id, slot); !fault.empty()) return fault;
  if (!Knows(thread, slot.writers) || !slot.hidden.empty())
    return "changes elements that other threads have written, without an mbarrier in between";
  Mbarrier& mbarrier = mbarriers_.at(mbarrier_id);
  if (mbarrier.unawaited)
    return "starts a tile copy with an mbarrier whose previous tile copy no thread has waited for";
  slot = Slot{slot.tensor_tile + 1, true, {}, {}, {}, {}, {}};
  mbarrier.tensor_tiles.emplace_back(id, slot.tensor_tile);
  Come(thread, mbarrier);
  return "";
}

std::string WorkgroupMbarriers::Write(int64_t thread, SlotId id) {
  Slot& slot = slots_[id];
  if (std::string fault = MayChange(thread, id, slot); !fault.empty()) return fault;
  if (slot.is_tensor_tile || !slot.readers.empty()) {  // this is the first write of new contents
    slot.before = slot.readers;
    slot.readers.clear();
    slot.writers.clear();
    slot.is_tensor_tile = false;
  }
  slot.writers[thread] = ThreadAt(thread).clock.times[static_cast<size_t>(thread)];
  slot.hidden.insert(thread);
  ThreadAt(thread).unshown.insert(id);
  return "";
}

void WorkgroupMbarriers::Show(int64_t thread) {
  for (const SlotId& id : ThreadAt(thread).unshown) slots_[id].hidden.erase(thread);
  ThreadAt(thread).unshown.clear();
}

std::string WorkgroupMbarriers::Read(int64_t thread, SlotId id) {
  Thread& self = ThreadAt(thread);
  if (!self.steps.insert(id).second) return "";
  Slot& slot = slots_[id];
  if (slot.is_tensor_tile && self.clock.tensor_tiles[id] != slot.tensor_tile)
    return "reads elements of a tile copy for which it has not waited";
  if (!slot.hidden.empty())
    return fmt::format("reads elements that thread {} has written without a proxy fence",
                       *slot.hidden.begin());
  if (!Knows(thread, slot.writers))
    return "reads elements that other threads have written, without an mbarrier in between";
  ++slot.under_way[thread];
  return "";
}

void WorkgroupMbarriers::MmaCommit(int64_t thread) {
  ThreadAt(thread).groups.push_back(std::exchange(ThreadAt(thread).steps, {}));
}

void WorkgroupMbarriers::MmaWait(int64_t thread, int64_t ahead) {
  Thread& self = ThreadAt(thread);
  while (std::ssize(self.groups) > ahead) {
    for (const SlotId& id : self.groups.front()) {
      Slot& slot = slots_[id];
      if (--slot.under_way[thread] == 0) slot.under_way.erase(thread);
      slot.readers[thread] = self.clock.times[static_cast<size_t>(thread)];
    }
    self.groups.erase(self.groups.begin());
  }
}

void WorkgroupMbarriers::Meet() {
  ++interval_;
  if (slots_.empty() && mbarriers_.empty()) return;
  Clock all;
  for (const Thread& thread : clocks_) all.Join(thread.clock);
  for (size_t w = 0; w < clocks_.size(); ++w) {
    clocks_[w].clock = all;
    ++clocks_[w].clock.times[w];
  }
}

}  // namespace kdl::interp
