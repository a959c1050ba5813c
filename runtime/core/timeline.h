// Timelines. Events are points on timelines.
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

// The wait of an operation for a point. While the operation waits, this object is in the timeline's list, so
// that no memory is allocated when the timeline reaches the point.
struct PendingWait {
  Operation* operation = nullptr;
  Timeline* timeline = nullptr;  // null if the wait is not in a list
  std::uint64_t value = 0;
  // Whether the device itself performs the wait. If so, the scheduler only handles the failure of the point.
  bool is_devices = false;
  PendingWait* before = nullptr;
  PendingWait* after = nullptr;
};

// A counter that never decreases.
class Timeline : public Counted {
 public:
  // `id` is unique among the timelines of a scheduler, starting at 1.
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
  // Reserves memory so that `operations` more operations can fail without an allocation.
  void ReserveFailures(std::size_t operations) {
    const std::size_t needed = failed_.size() + operations;
    if (failed_.capacity() < needed) failed_.reserve(std::max(needed, 2 * failed_.capacity()));
  }

  std::shared_ptr<Scheduler> scheduler_;
  std::uint64_t id_;
  std::uint64_t value_;
  Queue* queue_ = nullptr;  // null for a caller's timeline, and after the queue is destroyed
  Clock clock_;             // for a queue's timeline: the clock of the last operation that started
  // For a caller's timeline: what was known at each signal.
  std::map<std::uint64_t, Clock> signals_;
  std::vector<FailedSpan> failed_;  // in ascending order; no value exceeds `value_`
  // If set, all points above value_ have failed with this cause.
  FailurePtr broken_;
  PendingWait* first_wait_ = nullptr;  // the waits, in ascending order of value
  PendingWait* last_wait_ = nullptr;
};

// A point on a timeline.
class Event : public Counted {
 public:
  Event(Ref<Timeline> timeline, std::uint64_t value);
  // The event of an operation that `caller` enqueued.
  Event(Ref<Timeline> timeline, std::uint64_t value, Caller& caller);
  ~Event() override;

  Timeline& timeline() const { return *timeline_; }
  std::uint64_t value() const { return value_; }

 private:
  friend class Scheduler;

  Ref<Timeline> timeline_;
  std::uint64_t value_;
  Ref<Caller> caller_;
  std::shared_ptr<ClockCell> cell_;  // the clock of the operation, if ordering is checked
};

}  // namespace kdl::runtime
