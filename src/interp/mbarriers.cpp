#include "interp/mbarriers.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/views.h"

namespace kdl::interp {

void TeamMbarriers::Clock::Join(const Clock& other) {
  if (times.empty()) times.assign(other.times.size(), 0);
  for (size_t w = 0; w < other.times.size(); ++w) times[w] = std::max(times[w], other.times[w]);
  for (const auto& [slot, tensor_tile] : other.tensor_tiles)
    tensor_tiles[slot] = std::max(tensor_tiles[slot], tensor_tile);
}

bool TeamMbarriers::Knows(int64_t worker, const std::map<int64_t, int64_t>& others) {
  const std::vector<int64_t>& times = Of(worker).clock.times;
  return std::ranges::all_of(others, [&](const auto& other) {
    return other.first == worker || times[static_cast<size_t>(other.first)] >= other.second;
  });
}

std::string TeamMbarriers::Open(int64_t worker, const ir::Value* mbarriers, int64_t count,
                                int64_t arrivals) {
  for (int64_t number = 0; number < count; ++number) {
    auto [mbarrier, is_new] = mbarriers_.try_emplace(MbarrierId{mbarriers, number});
    if (!is_new) return "opens gates that are open";
    mbarrier->second.arrivals = arrivals;
    mbarrier->second.opener = worker;
    mbarrier->second.interval = interval_;
  }
  return "";
}

std::string TeamMbarriers::Close(int64_t worker, const ir::Value* mbarriers) {
  bool steps = std::ranges::any_of(
      clocks_, [](const Worker& each) { return !each.steps.empty() || !each.groups.empty(); });
  if (steps) return "closes gates while steps are under way";
  auto first = mbarriers_.lower_bound({mbarriers, 0});
  if (first == mbarriers_.end() || first->first.first != mbarriers)
    return "closes gates that are not open";
  while (first != mbarriers_.end() && first->first.first == mbarriers) {
    const Mbarrier& mbarrier = first->second;
    if (mbarrier.unawaited || !mbarrier.tensor_tiles.empty())
      return "closes a gate to which a box comes that nobody has awaited";
    for (const auto& [visitor, interval] : mbarrier.visits) {
      if (visitor != worker && interval == interval_)
        return fmt::format("closes a gate to which worker {} came, with no barrier between",
                           visitor);
    }
    first = mbarriers_.erase(first);
  }
  return "";
}

std::string TeamMbarriers::Visit(int64_t worker, MbarrierId id) {
  auto found = mbarriers_.find(id);
  if (found == mbarriers_.end()) return "comes to a gate that is not open";
  Mbarrier& mbarrier = found->second;
  if (mbarrier.opener != worker && mbarrier.interval == interval_)
    return fmt::format("comes to a gate that worker {} opened, with no barrier between",
                       mbarrier.opener);
  mbarrier.visits[worker] = interval_;
  return "";
}

void TeamMbarriers::Come(int64_t worker, Mbarrier& mbarrier) {
  Clock& clock = Of(worker).clock;
  mbarrier.arriving.Join(clock);
  ++clock.times[static_cast<size_t>(worker)];
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

std::string TeamMbarriers::Arrive(int64_t worker, MbarrierId id) {
  std::string fault = Visit(worker, id);
  if (fault.empty()) Come(worker, mbarriers_.at(id));
  return fault;
}

std::string TeamMbarriers::Await(int64_t worker, MbarrierId id, int64_t phase, bool* waits) {
  if (std::string fault = Visit(worker, id); !fault.empty()) return fault;
  Mbarrier& mbarrier = mbarriers_.at(id);
  *waits = mbarrier.phase == phase;
  if (*waits) return "";
  if (mbarrier.phase != phase + 1)
    return fmt::format("waits for phase {} of a gate that is in phase {}", phase, mbarrier.phase);
  Of(worker).clock.Join(mbarrier.over);
  mbarrier.unawaited = false;
  ++progress_;
  return "";
}

std::string TeamMbarriers::MayChange(int64_t worker, SlotId id, Slot& slot) {
  if (!slot.under_way.empty())
    return fmt::format("changes what steps of worker {} read", slot.under_way.begin()->first);
  if (!Knows(worker, slot.readers) || !Knows(worker, slot.before))
    return "changes what others read, with no gate between";
  if (slot.is_tensor_tile && Of(worker).clock.tensor_tiles[id] != slot.tensor_tile)
    return "changes what a box brings that it has not awaited";
  return "";
}

std::string TeamMbarriers::Fill(int64_t worker, SlotId id, MbarrierId mbarrier_id) {
  if (std::string fault = Visit(worker, mbarrier_id); !fault.empty()) return fault;
  Slot& slot = slots_[id];
  if (std::string fault = MayChange(worker, id, slot); !fault.empty()) return fault;
  if (!Knows(worker, slot.writers) || !slot.hidden.empty())
    return "changes what others write, with no gate between";
  Mbarrier& mbarrier = mbarriers_.at(mbarrier_id);
  if (mbarrier.unawaited) return "copies to a gate to which a box has come that nobody has awaited";
  slot = Slot{slot.tensor_tile + 1, true, {}, {}, {}, {}, {}};
  mbarrier.tensor_tiles.emplace_back(id, slot.tensor_tile);
  Come(worker, mbarrier);
  return "";
}

std::string TeamMbarriers::Write(int64_t worker, SlotId id) {
  Slot& slot = slots_[id];
  if (std::string fault = MayChange(worker, id, slot); !fault.empty()) return fault;
  if (slot.is_tensor_tile || !slot.readers.empty()) {  // the first one of what comes now
    slot.before = slot.readers;
    slot.readers.clear();
    slot.writers.clear();
    slot.is_tensor_tile = false;
  }
  slot.writers[worker] = Of(worker).clock.times[static_cast<size_t>(worker)];
  slot.hidden.insert(worker);
  Of(worker).unshown.insert(id);
  return "";
}

void TeamMbarriers::Show(int64_t worker) {
  for (const SlotId& id : Of(worker).unshown) slots_[id].hidden.erase(worker);
  Of(worker).unshown.clear();
}

std::string TeamMbarriers::Read(int64_t worker, SlotId id) {
  Worker& self = Of(worker);
  if (!self.steps.insert(id).second) return "";
  Slot& slot = slots_[id];
  if (slot.is_tensor_tile && self.clock.tensor_tiles[id] != slot.tensor_tile)
    return "reads what a box brings that it has not awaited";
  if (!slot.hidden.empty())
    return fmt::format("reads what worker {} has not shown", *slot.hidden.begin());
  if (!Knows(worker, slot.writers)) return "reads what others wrote, with no gate between";
  ++slot.under_way[worker];
  return "";
}

void TeamMbarriers::MmaCommit(int64_t worker) {
  Of(worker).groups.push_back(std::exchange(Of(worker).steps, {}));
}

void TeamMbarriers::MmaWait(int64_t worker, int64_t ahead) {
  Worker& self = Of(worker);
  while (std::ssize(self.groups) > ahead) {
    for (const SlotId& id : self.groups.front()) {
      Slot& slot = slots_[id];
      if (--slot.under_way[worker] == 0) slot.under_way.erase(worker);
      slot.readers[worker] = self.clock.times[static_cast<size_t>(worker)];
    }
    self.groups.erase(self.groups.begin());
  }
}

void TeamMbarriers::Meet() {
  ++interval_;
  if (slots_.empty() && mbarriers_.empty()) return;
  Clock all;
  for (const Worker& worker : clocks_) all.Join(worker.clock);
  for (size_t w = 0; w < clocks_.size(); ++w) {
    clocks_[w].clock = all;
    ++clocks_[w].clock.times[w];
  }
}

}  // namespace kdl::interp
