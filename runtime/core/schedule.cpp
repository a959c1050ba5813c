#include "core/schedule.h"

#include <algorithm>
#include <chrono>

#include "core/handles.h"

namespace kdl::runtime {

FailurePtr MakeFailure(const Error& error) {
  if (error == nullptr) return nullptr;
  auto failure = std::make_shared<Failure>();
  failure->code = kdl_error_code(error.get());
  failure->message = kdl_error_message(error.get());
  return failure;
}

Event::Event(Ref<Timeline> timeline, std::uint64_t value, std::shared_ptr<ClockCell> cell)
    : timeline_(std::move(timeline)), value_(value), cell_(std::move(cell)) {}

Event::~Event() = default;

Timeline::Timeline(std::shared_ptr<Scheduler> scheduler, std::uint64_t value)
    : scheduler_(std::move(scheduler)), value_(value) {
  const std::lock_guard lock(scheduler_->mutex_);
  id_ = ++scheduler_->timelines_;
}

Timeline::~Timeline() = default;

void Operation::Finish(Error error) {
  // The context may be destroyed as soon as the last operation has ended, on another thread.
  const std::shared_ptr<Scheduler> scheduler = queue_->scheduler_;
  scheduler->Finish(*this, MakeFailure(error));
}

kdl_completion Operation::Completion() {
  return {[](void* operation, kdl_error* error) {
            static_cast<Operation*>(operation)->Finish(Error(error));
          },
          this};
}

Queue::Queue(Device& device, std::int32_t index, std::shared_ptr<Scheduler> scheduler)
    : device_(device),
      index_(index),
      scheduler_(std::move(scheduler)),
      timeline_(MakeRef<Timeline>(scheduler_, 0)) {
  const std::lock_guard lock(scheduler_->mutex_);
  scheduler_->queues_.push_back(this);
}

Queue::~Queue() {
  const std::lock_guard lock(scheduler_->mutex_);
  std::erase(scheduler_->queues_, this);
}

Ref<Event> Scheduler::Enqueue(Queue& queue, Ref<Operation> operation,
                              std::span<kdl_event* const> after, bool wants_event) {
  Lock lock(mutex_);
  Operation& op = *operation;
  op.queue_ = &queue;
  op.value_ = ++queue.last_value_;
  if (closed_ != nullptr) {
    op.failure_ = closed_;
  } else if (queue.failed_ != nullptr && !queue.failed_->reported) {
    op.failure_ = queue.failed_;
  }
  if (host_order_ != nullptr) {
    op.order_ = std::make_unique<OrderNote>();
    op.order_->host = host_order_->clock();
    op.order_->is_host_call = op.is_host_call();
  }
  for (kdl_event* handle : after) {
    if (handle == nullptr) continue;
    const Event& event = *Unwrap(handle);
    if (op.order_ != nullptr) op.order_->after.push_back(Ref<Event>::Share(Unwrap(handle)));
    FailurePtr cause;
    const State state = Poll(event.timeline(), event.value(), &cause);
    if (state == State::kFailed && op.failure_ == nullptr) op.failure_ = cause;
    if (state != State::kPending) continue;
    ++op.waits_;
    event.timeline().waiters_.emplace(event.value(), operation);
  }
  Ref<Event> event;
  if (wants_event) {
    event = MakeRef<Event>(queue.timeline_, op.value_,
                           op.order_ == nullptr ? nullptr : op.order_->cell);
  }
  queue.operations_.push_back(std::move(operation));
  MakeReady(queue);
  Drain(lock);
  return event;
}

// Requires the lock, as all functions below that do not take it themselves.
void Scheduler::MakeReady(Queue& queue) {
  if (queue.busy_ || queue.operations_.empty()) return;
  Operation& first = *queue.operations_.front();
  if (first.waits_ > 0 && first.failure_ == nullptr) return;
  queue.busy_ = true;
  ready_.push_back(queue.operations_.front());
}

bool Scheduler::IsDraining() const {
  return std::find(draining_.begin(), draining_.end(), std::this_thread::get_id()) !=
         draining_.end();
}

void Scheduler::Drain(Lock& lock) {
  if (ready_.empty()) return;
  // Inside an operation of this thread: the loop that runs it goes on with what is ready now,
  // unless a thread that waits takes it first.
  if (IsDraining()) {
    if (waiting_ > 0) changed_.notify_all();
    return;
  }
  const auto self = std::this_thread::get_id();
  draining_.push_back(self);
  while (!ready_.empty()) RunOne(lock);
  std::erase(draining_, self);
}

void Scheduler::RunOne(Lock& lock) {
  const Ref<Operation> operation = std::move(ready_.front());
  ready_.pop_front();
  FailurePtr failure = operation->failure_;
  if (operation->order_ != nullptr) {
    const FailurePtr race = CheckOrder(*operation);
    if (failure == nullptr) failure = race;
  }
  lock.unlock();
  if (failure == nullptr) {
    operation->Start();
  } else {
    Finish(*operation, failure);
  }
  lock.lock();
}

void Scheduler::Finish(Operation& operation, FailurePtr failure) {
  operation.Drop();
  Ref<Operation> finished;  // let go of after the lock
  Lock lock(mutex_);
  Queue& queue = *operation.queue_;
  operation.finished_ = true;
  if (operation.order_ != nullptr && operation.order_->is_host_call) LearnFromHostCall(operation);
  finished = std::move(queue.operations_.front());
  queue.operations_.pop_front();
  queue.busy_ = false;
  if (failure != nullptr && !failure->reported) {
    queue.failed_ = failure;
    for (const Ref<Operation>& behind : queue.operations_) {
      if (behind->failure_ == nullptr) behind->failure_ = failure;
    }
  }
  Advance(*queue.timeline_, operation.value_, std::move(failure));
  MakeReady(queue);
  if (waiting_ > 0) changed_.notify_all();
  Drain(lock);
  lock.unlock();
}

void Scheduler::Advance(Timeline& timeline, std::uint64_t value, FailurePtr failure) {
  if (failure != nullptr) {
    const std::uint64_t first = timeline.value_ + 1;
    if (!timeline.failed_.empty() && timeline.failed_.back().last + 1 == first &&
        timeline.failed_.back().cause == failure) {
      timeline.failed_.back().last = value;
    } else {
      timeline.failed_.push_back({first, value, std::move(failure)});
    }
  }
  timeline.value_ = value;
  WakeWaiters(timeline);
}

void Scheduler::WakeWaiters(Timeline& timeline) {
  while (!timeline.waiters_.empty()) {
    const auto first = timeline.waiters_.begin();
    FailurePtr cause;
    const State state = Poll(timeline, first->first, &cause);
    if (state == State::kPending) return;
    const Ref<Operation> operation = std::move(first->second);
    timeline.waiters_.erase(first);
    if (operation->finished_) continue;
    --operation->waits_;
    if (state == State::kFailed && operation->failure_ == nullptr) operation->failure_ = cause;
    MakeReady(*operation->queue_);
  }
}

Scheduler::State Scheduler::Poll(const Timeline& timeline, std::uint64_t value,
                                 FailurePtr* cause) const {
  if (value > timeline.value_) {
    if (timeline.broken_ == nullptr) return State::kPending;
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
  return WaitLocked(lock, event.timeline(), event.value(), event.cell_.get(), timeout_ns);
}

Error Scheduler::WaitLocked(Lock& lock, Timeline& timeline, std::uint64_t value,
                            const ClockCell* cell, std::int64_t timeout_ns) {
  using SteadyClock = std::chrono::steady_clock;
  const SteadyClock::time_point start = SteadyClock::now();
  const auto is_late = [&] {
    return timeout_ns >= 0 && SteadyClock::now() - start >= std::chrono::nanoseconds(timeout_ns);
  };
  for (;;) {
    FailurePtr cause;
    const State state = Poll(timeline, value, &cause);
    if (state != State::kPending) Learn(timeline, value, cell);
    if (state == State::kDone) return nullptr;
    if (state == State::kFailed) {
      cause->reported = true;
      return cause->ToError();
    }
    if (is_late()) {
      return Fail(KDL_ERROR_TIMEOUT, "the event has not completed after ", timeout_ns,
                  " nanoseconds");
    }
    if (!ready_.empty()) {
      // Inside an operation of this thread the loop around it runs the rest.
      if (IsDraining()) {
        RunOne(lock);
      } else {
        Drain(lock);
      }
      continue;
    }
    ++waiting_;
    if (timeout_ns < 0) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, start + std::chrono::nanoseconds(timeout_ns));
    }
    --waiting_;
  }
}

Error Scheduler::WaitForQueue(Queue& queue) {
  Lock lock(mutex_);
  Error error = WaitLocked(lock, *queue.timeline_, queue.last_value_, nullptr, -1);
  if (error != nullptr || queue.failed_ == nullptr || queue.failed_->reported) return error;
  queue.failed_->reported = true;
  return queue.failed_->ToError();
}

bool Scheduler::IsDone(const Event& event) {
  const Lock lock(mutex_);
  FailurePtr cause;
  if (Poll(event.timeline(), event.value(), &cause) == State::kPending) return false;
  Learn(event.timeline(), event.value(), event.cell_.get());
  return true;
}

Error Scheduler::Signal(Timeline& timeline, std::uint64_t value) {
  Lock lock(mutex_);
  if (value <= timeline.value_) {
    return Invalid("signal of ", value, " on a timeline that has reached ", timeline.value_,
                   "; its counter only rises");
  }
  if (timeline.broken_ != nullptr) {
    return Invalid("signal of ", value,
                   " on a timeline that has failed: ", timeline.broken_->message);
  }
  if (host_order_ != nullptr) {
    constexpr std::size_t kMostSignals = 1000;
    if (timeline.signals_.size() == kMostSignals)
      timeline.signals_.erase(timeline.signals_.begin());
    timeline.signals_[value] = host_order_->clock();
  }
  Advance(timeline, value, nullptr);
  if (waiting_ > 0) changed_.notify_all();
  Drain(lock);
  return nullptr;
}

void Scheduler::Break(Timeline& timeline, FailurePtr cause) {
  Lock lock(mutex_);
  if (timeline.broken_ != nullptr) return;
  timeline.broken_ = std::move(cause);
  WakeWaiters(timeline);
  if (waiting_ > 0) changed_.notify_all();
  Drain(lock);
}

std::uint64_t Scheduler::Value(const Timeline& timeline) {
  const Lock lock(mutex_);
  return timeline.value_;
}

void Scheduler::Shutdown() {
  Lock lock(mutex_);
  closed_ = std::make_shared<Failure>();
  closed_->code = KDL_ERROR_INVALID_ARGUMENT;
  closed_->message = "the context was destroyed before this operation could run";
  for (Queue* queue : queues_) {
    for (const Ref<Operation>& operation : queue->operations_) {
      if (operation->failure_ == nullptr) operation->failure_ = closed_;
    }
    MakeReady(*queue);
  }
  Drain(lock);
  const auto is_idle = [](Queue* queue) { return queue->operations_.empty(); };
  ++waiting_;
  changed_.wait(lock, [&] { return std::all_of(queues_.begin(), queues_.end(), is_idle); });
  --waiting_;
}

}  // namespace kdl::runtime
