// The part of the scheduler that handles events: advancing and failing timelines, waiting, and cancelling.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>

#include "core/schedule.h"

namespace kdl::runtime {

void Scheduler::Advance(Timeline& timeline, std::uint64_t value, FailurePtr failure) {
  if (failure) {
    const std::uint64_t first = timeline.value_ + 1;
    if (!timeline.failed_.empty() && timeline.failed_.back().last + 1 == first &&
        timeline.failed_.back().cause.get() == failure.get()) {
      timeline.failed_.back().last = value;
    } else {
      timeline.failed_.push_back({first, value, std::move(failure)});
    }
  }
  timeline.value_ = value;
  WakeWaiters(timeline);
  // Events of a queue's timeline are created together with the queue's operations. If there are no events,
  // nobody can ask for the recorded failures.
  if (!timeline.is_shared()) timeline.failed_.clear();
}

void Scheduler::WakeWaiters(Timeline& timeline) {
  while (PendingWait* wait = timeline.first_wait_) {
    FailurePtr cause;
    const State state = Poll(timeline, wait->value, &cause);
    if (state == State::kPending) return;
    timeline.Unlink(wait);
    Operation& operation = *wait->operation;
    if (!wait->is_devices) --operation.pending_;
    if (state == State::kFailed && !operation.failure_) operation.failure_ = std::move(cause);
    MakeReady(*operation.queue_);
  }
}

Scheduler::State Scheduler::Poll(const Timeline& timeline, std::uint64_t value,
                                 FailurePtr* cause) const {
  if (value > timeline.value_) {
    if (!timeline.broken_) return State::kPending;
    *cause = timeline.broken_;
    return State::kFailed;
  }
  const auto span =
      std::lower_bound(timeline.failed_.begin(), timeline.failed_.end(), value,
                       [](const Timeline::FailedSpan& s, std::uint64_t v) { return s.last < v; });
  if (span == timeline.failed_.end() || span->first > value) return State::kDone;
  *cause = span->cause;
  return State::kFailed;
}

Error Scheduler::Wait(const Event& event, std::int64_t timeout_ns) {
  Lock lock(mutex_);
  Timeline& timeline = event.timeline();
  FailurePtr cause;
  KDL_RETURN_IF_ERROR(Reach(lock, timeline, event.value(), event.cell_.get(), timeout_ns, &cause));
  if (!cause) return nullptr;
  if (event.caller_) event.caller_->Tell(event.value());
  return cause->ToError();
}

Error Scheduler::Reach(Lock& lock, Timeline& timeline, std::uint64_t value, const ClockCell* cell,
                       std::int64_t timeout_ns, FailurePtr* cause) {
  using SteadyClock = std::chrono::steady_clock;
  const SteadyClock::time_point start = SteadyClock::now();
  // Limits the time to the clock's range, because the system would refuse a later time.
  const SteadyClock::time_point end =
      start + std::min<SteadyClock::duration>(std::chrono::nanoseconds(timeout_ns),
                                              SteadyClock::time_point::max() - start);
  const auto is_late = [&] { return timeout_ns >= 0 && SteadyClock::now() >= end; };
  for (;;) {
    if (Poll(timeline, value, cause) != State::kPending) {
      Learn(timeline, value, cell);
      return nullptr;
    }
    if (is_late()) {
      char seconds[32] = {};
      std::snprintf(seconds, sizeof seconds, "%.9g", static_cast<double>(timeout_ns) / 1e9);
      return Fail(KDL_ERROR_TIMEOUT, "the event has not completed after ", seconds, " seconds");
    }
    // A wait with a timeout must not run an operation, because that may take longer than the timeout.
    if (Operation* helpful = timeout_ns < 0 ? FindHelpful(timeline, value) : nullptr) {
      TakeReady(helpful);
      RunOne(lock, helpful);
      continue;
    }
    std::uint64_t awaited = value;
    if (Queue* queue = timeout_ns < 0 ? FindAwaited(timeline, &awaited) : nullptr) {
      Await(lock, *queue, awaited);
      continue;
    }
    if (timeline.queue_ != nullptr) Want(*timeline.queue_, value);
    ++waiting_;
    if (timeout_ns < 0) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, end);
    }
    --waiting_;
  }
}

Error Scheduler::WaitForCaller(Caller& caller) {
  Lock lock(mutex_);
  FailurePtr last;  // not used, because the caller may already have been told of this failure
  Timeline& timeline = *caller.queue_.timeline_;
  KDL_RETURN_IF_ERROR(Reach(lock, timeline, caller.last_value_, nullptr, -1, &last));
  if (!caller.has_failed()) return nullptr;
  caller.Tell(caller.failed_at_);
  return caller.failed_->ToError();
}

bool Scheduler::IsDone(const Event& event) {
  if (in_child()) return false;
  const Lock lock(mutex_);
  Timeline& timeline = event.timeline();
  FailurePtr cause;
  if (Poll(timeline, event.value(), &cause) == State::kPending) {
    if (timeline.queue_ != nullptr) Want(*timeline.queue_, event.value());
    return false;
  }
  Learn(timeline, event.value(), event.cell_.get());
  return true;
}

bool Scheduler::IsOrderedByDevice(const Event& event, Device** device, std::int32_t* queue) {
  const Lock lock(mutex_);
  const Queue* found = event.timeline().queue_;
  if (found == nullptr) return false;
  *device = &found->device();
  *queue = found->index();
  const Operation* operation = found->first_;
  while (operation != found->waiting_ && operation->value_ != event.value())
    operation = operation->next_;
  return operation != found->waiting_ && operation->is_with_device_ && !operation->is_last();
}

Error Scheduler::Cancel(const Event& event) {
  const Lock lock(mutex_);
  Queue* queue = event.timeline().queue_;
  if (queue == nullptr) {
    return Invalid(
        "only an operation can be cancelled, not a point of a timeline that the caller signals; "
        "use kdl_timeline_fail for those");
  }
  Operation* operation = queue->first_;
  while (operation != nullptr && operation->value_ != event.value()) operation = operation->next_;
  if (operation == nullptr || operation->caller_->Fails(*operation)) return nullptr;
  operation->failure_ = MakeFailure(Fail(KDL_ERROR_CANCELLED, "the operation was cancelled"));
  if (operation->is_running_) {
    operation->Stop();
  } else {
    MakeReady(*queue);
  }
  return nullptr;
}

Error Scheduler::Signal(Timeline& timeline, std::uint64_t value) {
  const Lock lock(mutex_);
  if (value <= timeline.value_) {
    return Invalid("signal of ", value, " on a timeline that has reached ", timeline.value_,
                   "; its value can only increase");
  }
  if (timeline.broken_) {
    return Invalid("signal of ", value,
                   " on a timeline that has failed: ", timeline.broken_->message());
  }
  if (host_order_ != nullptr) {
    constexpr std::size_t kMostSignals = 1000;
    if (timeline.signals_.size() == kMostSignals)
      timeline.signals_.erase(timeline.signals_.begin());
    timeline.signals_[value] = host_order_->clock();
  }
  Advance(timeline, value, {});
  if (waiting_ > 0) changed_.notify_all();
  return nullptr;
}

void Scheduler::Break(Timeline& timeline, FailurePtr cause) {
  if (in_child()) return;
  const Lock lock(mutex_);
  if (timeline.broken_) return;
  timeline.broken_ = std::move(cause);
  WakeWaiters(timeline);
  if (waiting_ > 0) changed_.notify_all();
}

void Scheduler::Abandon(Timeline& timeline) { Break(timeline, abandoned_); }

std::uint64_t Scheduler::Value(const Timeline& timeline) {
  if (in_child()) return 0;
  const Lock lock(mutex_);
  return timeline.value_;
}

}  // namespace kdl::runtime
