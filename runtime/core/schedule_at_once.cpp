// The part of the scheduler for callers whose operations run at once.
#include "core/schedule.h"

namespace kdl::runtime {

void Operation::Renew() {
  is_running_ = false;
  is_over_ = false;
  is_finished_.store(false, std::memory_order_relaxed);
  waited_since_ns_ = 0;
  next_ = nullptr;
  failure_ = {};
  caller_ = {};
}

void Scheduler::RunAtOnce(Caller& caller, std::unique_ptr<CallerState> state) {
  const Lock lock(mutex_);
  caller.runs_at_once_ = true;
  caller.state_ = std::move(state);
}

bool Scheduler::IsIdle(const Caller& caller) {
  const Lock lock(mutex_);
  return HasNothingLeft(caller);
}

// If ordering is checked, the host learns from events what has ended, so operations must have them.
bool Scheduler::HasNothingLeft(const Caller& caller) const {
  const Queue& queue = caller.queue_;
  return queue.first_ == nullptr && !queue.busy_ && !caller.has_failed() &&
         host_order_ == nullptr && !is_closed_;
}

bool Scheduler::RunIfIdle(Caller& caller, Operation& operation, Ref<Event>* failed) {
  Lock lock(mutex_);
  if (!HasNothingLeft(caller)) return false;
  operation.is_borrowed_ = true;
  Admit(caller, operation, {});
  caller.queue_.busy_ = true;
  Begin(lock, &operation);
  if (!operation.is_finished_.load(std::memory_order_acquire)) {
    lock.lock();
    FailurePtr known;  // unused, because the operation stores the same failure
    // Without a limit of time, this has no error.
    static_cast<void>(Reach(lock, *caller.queue_.timeline_, operation.value_, nullptr, -1, &known));
  }
  if (operation.failure_) *failed = EventOfFailure(caller, operation);
  operation.Renew();
  return true;
}

// The queue has forgotten the failure if nobody had an event of it. So the event is one of a timeline that has failed.
Ref<Event> Scheduler::EventOfFailure(Caller& caller, const Operation& operation) {
  auto timeline = MakeRef<Timeline>(caller.queue_.scheduler_, NextTimeline(), 0);
  timeline->broken_ = operation.failure_;
  return MakeRef<Event>(std::move(timeline), operation.value_, caller);
}

}  // namespace kdl::runtime
