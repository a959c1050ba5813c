// Timelines, and events as points on them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/failure.h"
#include "core/order.h"
#include "core/ref.h"

namespace kdl::runtime {

class Caller;
class Operation;
class Queue;
class Scheduler;
class Timeline;

// An operation's wait for a point. It is in the timeline's list meanwhile, so reaching the point needs no
// allocation.
struct PendingWait {
  Operation* operation = nullptr;
  Timeline* timeline = nullptr;  // null: not in a list
  std::uint64_t value = 0;
  bool is_devices = false;  // the device waits; only a failure matters here
  PendingWait* before = nullptr;
  PendingWait* after = nullptr;
};

// A counter that only rises.
class Timeline : public Counted {
 public:
  // `id` is unique among the scheduler's timelines, starting at 1.
  Timeline(std::shared_ptr<Scheduler> scheduler, std::uint64_t id, std::uint64_t value);
  ~Timeline() override;

  Scheduler& scheduler() const { return *scheduler_; }

 private:
  friend class Scheduler;
  friend class Queue;
  struct FailedSpan {
    std::uint64_t first;
    std::uint64_t last;
    FailurePtr cause;
  };

  void Link(PendingWait* wait);
  void Unlink(PendingWait* wait);
  // Reserves memory, so that so many operations can fail without an allocation.
  void ReserveFailures(std::size_t operations) {
    const std::size_t needed = failed_.size() + operations;
    if (failed_.capacity() < needed) failed_.reserve(std::max(needed, 2 * failed_.capacity()));
  }

  std::shared_ptr<Scheduler> scheduler_;
  std::uint64_t id_;
  std::uint64_t value_;
  Queue* queue_ = nullptr;  // null: the caller's timeline, or the queue is gone
  Clock clock_;             // for a queue: the clock of the last operation started
  std::map<std::uint64_t, Clock>
      signals_;                        // for the caller's timeline: what was known at each signal
  std::vector<FailedSpan> failed_;     // at or below value_, ascending
  FailurePtr broken_;                  // if set, everything above value_ has failed
  PendingWait* first_wait_ = nullptr;  // ascending by value
  PendingWait* last_wait_ = nullptr;
};

// A point on a timeline.
class Event : public Counted {
 public:
  Event(Ref<Timeline> timeline, std::uint64_t value);
  // The event of an operation of a caller.
  Event(Ref<Timeline> timeline, std::uint64_t value, Caller& caller);
  ~Event() override;

  Timeline& timeline() const { return *timeline_; }
  std::uint64_t value() const { return value_; }

 private:
  friend class Scheduler;

  Ref<Timeline> timeline_;
  std::uint64_t value_;
  Ref<Caller> caller_;
  std::shared_ptr<ClockCell> cell_;  // the operation's, if orders are checked
};

}  // namespace kdl::runtime
