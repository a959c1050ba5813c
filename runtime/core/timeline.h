// Points in time: timelines and events on them.
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

// That an operation waits for a point; in the timeline's list as long as it does, so that nothing has to
// be allocated when the point is reached.
struct PendingWait {
  Operation* operation = nullptr;
  Timeline* timeline = nullptr;  // null: not in a list
  std::uint64_t value = 0;
  bool is_devices = false;  // the device waits: only a failure matters here
  PendingWait* before = nullptr;
  PendingWait* after = nullptr;
};

// A counter that only rises.
class Timeline : public Counted {
 public:
  // `id`: of the scheduler's timelines, from 1.
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
  // So that as many operations can fail without any memory.
  void ReserveFailures(std::size_t operations) {
    const std::size_t needed = failed_.size() + operations;
    if (failed_.capacity() < needed) failed_.reserve(std::max(needed, 2 * failed_.capacity()));
  }

  std::shared_ptr<Scheduler> scheduler_;
  std::uint64_t id_;
  std::uint64_t value_;
  Queue* queue_ = nullptr;  // whose timeline it is; null: the caller's, or the queue is gone
  Clock clock_;             // of the last operation started, where it is a queue's
  std::map<std::uint64_t, Clock>
      signals_;                        // what was known at each signal, where it is the caller's
  std::vector<FailedSpan> failed_;     // at or below value_, ascending
  FailurePtr broken_;                  // everything above value_ has failed
  PendingWait* first_wait_ = nullptr;  // ascending
  PendingWait* last_wait_ = nullptr;
};

// A point on a timeline.
class Event : public Counted {
 public:
  Event(Ref<Timeline> timeline, std::uint64_t value);
  // Of an operation that the caller gives.
  Event(Ref<Timeline> timeline, std::uint64_t value, Caller& caller);
  ~Event() override;

  Timeline& timeline() const { return *timeline_; }
  std::uint64_t value() const { return value_; }

 private:
  friend class Scheduler;

  Ref<Timeline> timeline_;
  std::uint64_t value_;
  Ref<Caller> caller_;
  std::shared_ptr<ClockCell> cell_;  // the operation's, where orders are checked
};

}  // namespace kdl::runtime
