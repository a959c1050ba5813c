#include "interp/race_detector.h"

#include <fmt/format.h>

#include <algorithm>

namespace kdl::interp {

int64_t Clock::TimeOf(int64_t agent) const {
  auto at = static_cast<size_t>(agent);
  return at < times_.size() ? times_[at] : 0;
}

void Clock::Advance(Epoch to) {
  auto at = static_cast<size_t>(to.agent);
  if (at >= times_.size()) times_.resize(at + 1);
  times_[at] = std::max(times_[at], to.time);
}

void Clock::Join(const Clock& other) {
  if (other.times_.size() > times_.size()) times_.resize(other.times_.size());
  for (size_t i = 0; i < other.times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
}

void Epochs::Add(Epoch epoch, const Clock& known_to_all) {
  auto is_old = [&](const Epoch& old) {
    return old.agent == epoch.agent || old.time <= known_to_all.TimeOf(old.agent);
  };
  if (others_) std::erase_if(*others_, is_old);
  if (first_.agent < 0 || is_old(first_)) {
    first_ = epoch;
    return;
  }
  if (!others_) others_ = std::make_unique<std::vector<Epoch>>();
  others_->push_back(epoch);
}

bool RaceDetector::Knows(int64_t thread, Epoch epoch) const {
  return epoch.agent == thread || epoch.time <= met_.TimeOf(epoch.agent) ||
         epoch.time <= ThreadAt(thread).clock.TimeOf(epoch.agent);
}

bool RaceDetector::KnowsAll(int64_t thread, const Epochs& epochs) const {
  bool all = true;
  epochs.Each([&](const Epoch& epoch) { all &= Knows(thread, epoch); });
  return all;
}

// -- Elements -------------------------------------------------------------------------------------

std::string RaceDetector::Touch(int64_t thread, Mark& mark, TouchKind kind) {
  bool reads = kind == TouchKind::Read;
  bool updates = kind == TouchKind::Atomic;
  if (mark.copies_in > 0)
    return "accesses an element that an asynchronous copy has not written yet";
  if (!reads && mark.copies_out > 0)
    return "changes an element that an asynchronous copy has not read yet";
  if (threads_.size() == 1) return "";
  std::string race = Race(thread, mark.writers, "wrote");
  if (race.empty() && !reads) race = Race(thread, mark.readers, "read");
  if (race.empty() && !updates) race = Race(thread, mark.updaters, "updated");
  if (!race.empty()) return race;
  (reads ? mark.readers : updates ? mark.updaters : mark.writers).Add(Now(thread), met_);
  return "";
}

std::string RaceDetector::Race(int64_t thread, const Epochs& others, const char* what) const {
  int64_t count = 0;
  int64_t unknown = -1;
  others.Each([&](const Epoch& epoch) {
    if (Knows(thread, epoch)) return;
    ++count;
    unknown = epoch.agent;
  });
  if (count == 0) return "";
  std::string who = count > 1 ? "several threads" : fmt::format("thread {}", unknown);
  return fmt::format("accesses an element that {} {}, without a barrier in between", who, what);
}

// -- Slots ----------------------------------------------------------------------------------------

std::string RaceDetector::MayChange(int64_t thread, const Slot& slot) const {
  if (!slot.under_way.empty())
    return fmt::format("changes elements that matrix instructions of thread {} are reading",
                       slot.under_way.begin()->first);
  if (!KnowsAll(thread, slot.readers))
    return "changes elements that other threads have read, without an mbarrier in between";
  if (!Knows(thread, slot.copy))
    return "changes elements of a tile copy for which it has not waited";
  return "";
}

std::string RaceDetector::LoadFromSlot(int64_t thread, SlotId id) {
  return Knows(thread, slots_[id].copy)
             ? ""
             : "reads elements of a tile copy for which it has not waited";
}

std::string RaceDetector::StoreToSlot(int64_t thread, SlotId id) {
  Slot& slot = slots_[id];
  if (std::string fault = MayChange(thread, slot); !fault.empty()) return fault;
  slot.writers.Add(Now(thread), met_);
  slot.hidden.insert(thread);
  ThreadAt(thread).unshown.insert(id);
  return "";
}

void RaceDetector::ProxyFence(int64_t thread) {
  for (const SlotId& id : ThreadAt(thread).unshown) slots_[id].hidden.erase(thread);
  ThreadAt(thread).unshown.clear();
}

std::string RaceDetector::FillSlot(int64_t thread, SlotId id, Epoch* arrival) {
  Slot& slot = slots_[id];
  if (std::string fault = MayChange(thread, slot); !fault.empty()) return fault;
  if (!KnowsAll(thread, slot.writers) || !slot.hidden.empty())
    return "changes elements that other threads have written, without an mbarrier in between";
  if (slot.copy.agent < 0) slot.copy.agent = next_agent_++;
  ++slot.copy.time;
  slot.writers = {};
  *arrival = slot.copy;
  return "";
}

std::string RaceDetector::MultiplySlot(int64_t thread, SlotId id) {
  if (!ThreadAt(thread).steps.insert(id).second) return "";
  if (std::string fault = LoadFromSlot(thread, id); !fault.empty()) return fault;
  Slot& slot = slots_[id];
  if (!slot.hidden.empty())
    return fmt::format("reads elements that thread {} has written without a proxy fence",
                       *slot.hidden.begin());
  if (!KnowsAll(thread, slot.writers))
    return "reads elements that other threads have written, without an mbarrier in between";
  ++slot.under_way[thread];
  return "";
}

void RaceDetector::MmaCommit(int64_t thread) {
  ThreadAt(thread).groups.push_back(std::exchange(ThreadAt(thread).steps, {}));
}

void RaceDetector::MmaWait(int64_t thread, int64_t ahead) {
  Thread& self = ThreadAt(thread);
  while (std::ssize(self.groups) > ahead) {
    for (const SlotId& id : self.groups.front()) {
      Slot& slot = slots_[id];
      if (--slot.under_way[thread] == 0) slot.under_way.erase(thread);
      slot.readers.Add(Now(thread), met_);
    }
    self.groups.erase(self.groups.begin());
  }
}

bool RaceDetector::Multiplies(int64_t thread) const {
  return !ThreadAt(thread).steps.empty() || !ThreadAt(thread).groups.empty();
}

// -- Order ----------------------------------------------------------------------------------------

void RaceDetector::Meet() {
  for (size_t i = 0; i < threads_.size(); ++i) {
    met_.Join(threads_[i].clock);
    threads_[i].clock.Forget();
    met_.Advance(Now(static_cast<int64_t>(i)));
    ++threads_[i].now;
  }
}

void RaceDetector::Release(int64_t thread, Clock& clock) {
  Thread& self = ThreadAt(thread);
  clock.Join(self.clock);
  clock.Advance(Now(thread));
  ++self.now;
}

}  // namespace kdl::interp
