#include "core/schedule.h"

#include <algorithm>
#include <new>

#include "core/device.h"
#include "core/handles.h"
#include "system/float_state.h"

namespace kdl::runtime {

void Operation::Finish(Error error) { queue_->scheduler_->Finish(*this, std::move(error)); }

kdl_completion Operation::Completion() {
  return {[](void* context, kdl_error* error) {
            auto* operation = static_cast<Operation*>(context);
            if (operation->is_long_outcome())
              return operation->queue_->scheduler_->FinishLater(*operation, Error(error));
            operation->Finish(operation->Outcome(Error(error)));
          },
          this};
}

void Operation::Address(kdl_submission* submission) {
  submission->size = sizeof *submission;
  submission->version = KDL_PLUGIN_VERSION;
  submission->queue = queue_->index_;
  submission->number = value_;
  submission->after = points_.data();
  submission->after_count = static_cast<std::int32_t>(points_.size());
  submission->done = Completion();
}

Queue::Queue(Device& device, std::int32_t index, std::shared_ptr<Scheduler> scheduler)
    : device_(device),
      index_(index),
      scheduler_(std::move(scheduler)),
      timeline_(MakeRef<Timeline>(scheduler_, scheduler_->NextTimeline(), 0)),
      caller_(MakeRef<Caller>(*this, false)) {
  timeline_->queue_ = this;
  const std::lock_guard lock(scheduler_->mutex_);
  scheduler_->queues_.push_back(this);
}

Queue::~Queue() {
  const std::lock_guard lock(scheduler_->mutex_);
  timeline_->queue_ = nullptr;
  std::erase(scheduler_->queues_, this);
}

void Queue::Append(Operation* operation) {
  (last_ == nullptr ? first_ : last_->next_) = operation;
  last_ = operation;
  if (waiting_ == nullptr) waiting_ = operation;
  ++length_;
}

Operation* Queue::PopFirst() {
  Operation* popped = first_;
  first_ = popped->next_;
  if (first_ == nullptr) last_ = nullptr;
  if (waiting_ == popped) waiting_ = first_;
  if (begun_ == popped) begun_ = nullptr;
  --length_;
  return popped;
}

void Caller::Fail(const Operation& operation) {
  if (failed_at_ <= operation.told_) failed_ = operation.failure_;
  failed_at_ = operation.value_;
}

bool Caller::Fails(const Operation& operation) const {
  return operation.failure_ || failed_at_ > operation.told_;
}

void Caller::Inherit(Operation& operation) const {
  if (!operation.failure_ && Fails(operation)) operation.failure_ = failed_;
}

Scheduler::Scheduler()
    : no_memory_(MakeFailure(OutOfMemory())),
      abandoned_(MakeFailure(Invalid("the timeline was freed before it reached this event"))),
      closing_(MakeFailure(Invalid("the context was destroyed before this operation could run"))) {}

Scheduler::~Scheduler() = default;

Error Scheduler::CheckProcess() const {
  if (!in_child()) return nullptr;
  return Fail(KDL_ERROR_UNSUPPORTED,
              "the context belongs to the process from which this one was forked; create one here");
}

Error Scheduler::Enqueue(Caller& caller, Ref<Operation> operation,
                         std::span<kdl_event* const> after, Ref<Event>* done) {
  Queue& queue = caller.queue_;
  Lock lock(mutex_);
  if (!runners_.HasOne()) {
    return Fail(KDL_ERROR_DEVICE, "the system cannot create another thread to run operations");
  }
  Ref<Event> event;
  if (done != nullptr) event = MakeRef<Event>(queue.timeline_, queue.last_value_ + 1, caller);
  Admit(caller, *operation, after);
  if (done != nullptr) {
    if (operation->order_ != nullptr) event->cell_ = operation->order_->cell;
    *done = std::move(event);
  }
  operation.Leave();  // the queue now owns the operation
  LimitLength(queue);
  MakeReady(queue, true);
  // Submit all operations that can start to the device now, which does not block this thread, or run them.
  while (queue.waiting_ != nullptr && queue.waiting_->is_ready_ && StartsHere(*queue.waiting_)) {
    Operation* next = queue.waiting_;
    TakeReady(next);
    RunOne(lock, next);
  }
  return nullptr;
}

bool Scheduler::StartsHere(const Operation& operation) {
  return operation.is_early() || operation.caller_->runs_at_once();
}

Error Scheduler::RunAndWait(Caller& caller, Operation& operation,
                            std::span<kdl_event* const> after) {
  Queue& queue = caller.queue_;
  Lock lock(mutex_);
  operation.is_borrowed_ = true;
  Admit(caller, operation, after);
  if (queue.first_ == &operation && operation.pending_ == 0 && !queue.busy_) {
    queue.busy_ = true;
    if (operation.order_ != nullptr) CheckOrder(operation);
    const bool is_with_device = Begin(lock, &operation);
    // In the common case, the operation has ended by now.
    const bool is_over = operation.is_finished_.load(std::memory_order_acquire);
    const bool is_checked = operation.order_ != nullptr;
    if (!is_with_device && !is_checked && is_over && !operation.failure_) return nullptr;
    Continue(lock, queue, is_with_device);
  } else {
    MakeReady(queue, true);
  }
  const ClockCell* cell = operation.order_ == nullptr ? nullptr : operation.order_->cell.get();
  FailurePtr known;  // unused, because the operation stores the same failure
  KDL_RETURN_IF_ERROR(Reach(lock, *queue.timeline_, operation.value_, cell, -1, &known));
  if (!operation.failure_) return nullptr;
  caller.Tell(operation.value_);
  return operation.failure_->ToError();
}

// The caller must hold the lock, as for all functions below that do not acquire it themselves. If memory runs
// out, throws without any effect.
void Scheduler::Admit(Caller& caller, Operation& operation, std::span<kdl_event* const> after) {
  Queue& queue = caller.queue_;
  queue.timeline_->ReserveFailures(queue.length_ + 1);
  operation.waits_.resize(after.size());
  if (operation.is_early()) operation.points_.reserve(after.size() + 1);
  if (host_order_ != nullptr) {
    operation.order_ = std::make_unique<OrderNote>();
    operation.order_->host = host_order_->clock();
    operation.order_->is_host_call = operation.is_host_call();
    for (kdl_event* event : after) {
      if (event != nullptr) operation.order_->after.push_back(Ref<Event>::Share(Unwrap(event)));
    }
  }
  operation.queue_ = &queue;
  operation.caller_ = Ref<Caller>::Share(&caller);
  operation.value_ = ++queue.last_value_;
  operation.told_ = caller.told_;
  caller.last_value_ = operation.value_;
  if (trace_ != nullptr) operation.given_ns_ = TraceNow();
  if (is_closed_) operation.failure_ = closing_;
  caller.Inherit(operation);
  Register(operation, after);
  queue.Append(&operation);
}

void Scheduler::Register(Operation& operation, std::span<kdl_event* const> after) {
  auto wait = operation.waits_.begin();
  for (kdl_event* handle : after) {
    if (handle == nullptr) continue;
    const Event& event = *Unwrap(handle);
    FailurePtr cause;
    const State state = Poll(event.timeline(), event.value(), &cause);
    if (state == State::kFailed && !operation.failure_) operation.failure_ = cause;
    if (state != State::kPending) continue;
    wait->operation = &operation;
    wait->value = event.value();
    wait->is_devices = operation.is_early() && IsWithDevice(*operation.queue_, event);
    if (wait->is_devices) {
      operation.points_.push_back({event.timeline().queue_->index(), 0, event.value()});
    } else {
      ++operation.pending_;
      operation.awaited_ = event.timeline().queue_;
      operation.waited_since_ns_ = operation.given_ns_;
      if (Queue* awaited = event.timeline().queue_) Want(*awaited, event.value());
    }
    event.timeline().Link(&*wait++);
  }
}

bool Scheduler::IsWithDevice(const Queue& waiting, const Event& event) const {
  const Queue* queue = event.timeline().queue_;
  if (queue == nullptr || &queue->device() != &waiting.device()) return false;
  if (queue != &waiting && queue->device().must_be_asked()) return false;
  const Operation* operation = queue->first_;
  while (operation != queue->waiting_ && operation->value_ != event.value()) {
    operation = operation->next_;
  }
  return operation != queue->waiting_ && operation->is_with_device_;
}

bool Scheduler::MayStart(const Queue& queue, const Operation& operation) const {
  if (&operation == queue.first_) return operation.pending_ == 0 || operation.failure_;
  // At this point, all earlier operations have been submitted to the device. If the last one fails, a device
  // that orders operations would also make this operation fail. That would be wrong if the operations belong
  // to different callers, or if the caller has already been told of the failure.
  const Operation* before = queue.begun_;
  const bool fails_alike =
      before->caller_.get() == operation.caller_.get() || !queue.device().orders();
  return operation.is_early() && queue.first_->is_early() && operation.pending_ == 0 &&
         !operation.failure_ && fails_alike && !before->caller_->Fails(*before) &&
         !before->is_last();
}

void Scheduler::MakeReady(Queue& queue, bool is_given_now) {
  Operation* next = queue.waiting_;
  if (queue.busy_ || next == nullptr) return;
  if (!MayStart(queue, *next)) return Want(queue, next->value_ - 1);
  queue.busy_ = true;
  if (next->is_early() && next != queue.first_) {
    next->points_.push_back({queue.index(), 0, next->value_ - 1});
  }
  if (next->order_ != nullptr) CheckOrder(*next);
  AddReady(next);
  if (waiting_ > 0) changed_.notify_all();
  if (!is_given_now || !StartsHere(*next)) runners_.Summon(next->is_little() && !next->is_early());
}

void Scheduler::AddReady(Operation* operation) {
  (last_ready_ == nullptr ? first_ready_ : last_ready_->next_ready_) = operation;
  last_ready_ = operation;
  operation->is_ready_ = true;
  ++ready_;
}

Operation* Scheduler::TakeFirstReady() {
  Operation* first = first_ready_;
  if (first != nullptr) TakeReady(first);
  return first;
}

void Scheduler::TakeReady(Operation* operation) {
  Operation* before = nullptr;
  for (Operation* at = first_ready_; at != operation; at = at->next_ready_) before = at;
  (before == nullptr ? first_ready_ : before->next_ready_) = operation->next_ready_;
  if (last_ready_ == operation) last_ready_ = before;
  operation->next_ready_ = nullptr;
  operation->is_ready_ = false;
  --ready_;
}

Operation* Scheduler::FindHelpful(const Timeline& timeline, std::uint64_t value, int depth) const {
  constexpr int kDeepest = 4;
  const Queue* queue = timeline.queue_;
  if (queue == nullptr || queue->first_ == nullptr || depth > kDeepest) return nullptr;
  Operation* next = queue->waiting_;
  if (next == nullptr || next->value_ > value) return nullptr;
  if (queue->busy_) return next->is_ready_ ? next : nullptr;
  for (const PendingWait& wait : next->waits_) {
    if (wait.timeline == nullptr || wait.is_devices) continue;
    return FindHelpful(*wait.timeline, wait.value,
                       depth + 1);  // all of the waits must end, so start with any of them
  }
  return nullptr;
}

bool Scheduler::RunFirst(Lock& lock) {
  Operation* operation = TakeFirstReady();
  if (operation == nullptr) return AskFirst(lock);
  const FloatScope floats;  // undoes changes by operations that ran earlier on this thread
  RunOne(lock, operation);
  return true;
}

void Scheduler::RunOne(Lock& lock, Operation* operation) {
  Queue& queue = *operation->queue_;
  Continue(lock, queue, Begin(lock, operation));
}

void Scheduler::Continue(Lock& lock, Queue& queue, bool is_with_device) {
  lock.lock();
  if (!is_with_device) return;
  if (queue.begun_ != nullptr) queue.begun_->is_with_device_ = !queue.begun_->is_over_;
  queue.busy_ = false;
  Ask(queue);
  MakeReady(queue);
}

bool Scheduler::Begin(Lock& lock, Operation* operation) {
  if (operation->is_reported_) {
    lock.unlock();
    Finish(*operation, operation->Outcome(std::move(operation->reported_)));
    return false;
  }
  Queue& queue = *operation->queue_;
  operation->caller_->Inherit(*operation);
  const bool runs = !operation->failure_;
  const bool goes_to_device = runs && operation->is_early();
  operation->goes_to_device_ = goes_to_device;
  operation->is_running_ = true;
  if (trace_ != nullptr && runs) NoteWait(*operation);
  queue.waiting_ = operation->next_;
  queue.begun_ = operation;
  if (runs && operation->order_ != nullptr && operation->order_->is_host_call) {
    LearnInHostCall(*operation);
  }
  if (runs) operation->Count();
  lock.unlock();
  Error error;
  try {
    if (runs) operation->Start();
  } catch (const std::bad_alloc&) {
    error = OutOfMemory();
  }
  if (!runs || error != nullptr) Finish(*operation, std::move(error));
  return goes_to_device;
}

void Scheduler::FinishLater(Operation& operation, Error error) {
  const Lock lock(mutex_);
  operation.reported_ = std::move(error);
  operation.is_reported_ = true;
  AddReady(&operation);
  if (waiting_ > 0) changed_.notify_all();
  runners_.Summon(/*is_little=*/false);
}

// As soon as this function releases the lock, another thread may destroy the context.
void Scheduler::Finish(Operation& operation, Error error) {
  if (operation.began_ns_ != 0) NoteSpan(operation);
  operation.Drop();
  FailurePtr failure;
  if (error != nullptr) {
    if (!IsFailure(kdl_error_code(error.get())))
      error = Fail(KDL_ERROR_DEVICE, kdl_error_message(error.get()));
    auto* made = new (std::nothrow) Failure(std::move(error));
    failure = made != nullptr ? FailurePtr::Take(made) : no_memory_;
  }
  Lock lock(mutex_);
  Queue& queue = *operation.queue_;
  if (!operation.failure_) operation.failure_ = std::move(failure);
  if (operation.order_ != nullptr && operation.order_->is_host_call) LearnFromHostCall(operation);
  for (PendingWait& wait : operation.waits_) {
    if (wait.timeline != nullptr) wait.timeline->Unlink(&wait);
  }
  if (!operation.goes_to_device_) queue.busy_ = false;
  operation.is_over_ = true;
  Operation* gone = PopEnded(queue);
  MakeReady(queue);
  if (waiting_ > 0) changed_.notify_all();
  lock.unlock();
  while (gone != nullptr) std::exchange(gone, gone->next_)->Release();
}

// If an operation is not the first in its queue, its wait for an event counts only from when the earlier
// operations have ended.
void Scheduler::NoteWait(Operation& operation) const {
  operation.began_ns_ = TraceNow();
  if (operation.waited_since_ns_ == 0) return;
  operation.waited_since_ns_ = std::max(operation.waited_since_ns_, operation.queue_->ended_ns_);
}

void Scheduler::NoteSpan(const Operation& operation) const {
  const auto row_of = [](const Queue& queue) {
    return Concat(queue.device().uri(), " queue ", queue.index());
  };
  try {
    const bool is_emulated = operation.queue_->device().facts().functional != 0;
    // Marks the row of an emulated device, because its times do not predict those of a real device.
    const std::string row = Concat(row_of(*operation.queue_), is_emulated ? " (emulated)" : "");
    if (operation.waited_since_ns_ != 0) {
      const Queue* awaited = operation.awaited_;
      trace_->Add({row, Concat("waits for ", awaited == nullptr ? "the caller" : row_of(*awaited)),
                   operation.waited_since_ns_, operation.began_ns_, 0});
    }
    trace_->Add(
        {row, operation.Describe(), operation.began_ns_, TraceNow(), operation.bytes_moved()});
  } catch (const std::bad_alloc&) {  // omit the span from the trace
  }
}

// An operation that never reached its device may end before earlier operations. It stays in the queue until
// they have ended, too.
Operation* Scheduler::PopEnded(Queue& queue) {
  Operation* gone = nullptr;
  if (trace_ != nullptr) queue.ended_ns_ = TraceNow();
  while (queue.first_ != nullptr && queue.first_->is_over_) {
    Operation& operation = *queue.PopFirst();
    if (operation.failure_) operation.caller_->Fail(operation);
    Advance(*queue.timeline_, operation.value_, operation.failure_);
    if (!operation.is_borrowed_) operation.next_ = std::exchange(gone, &operation);
    operation.is_finished_.store(true, std::memory_order_release);
    if (queue.first_ != nullptr) queue.first_->caller_->Inherit(*queue.first_);
  }
  return gone;
}

void Scheduler::Shutdown() {
  if (in_child()) return;
  Lock lock(mutex_);
  is_closed_ = true;
  for (Queue* queue : queues_) {
    for (Operation* operation = queue->first_; operation != nullptr; operation = operation->next_) {
      if (operation->is_running_ || operation->caller_->Fails(*operation)) continue;
      operation->failure_ = closing_;
    }
    MakeReady(*queue);
    Want(*queue, queue->last_value_);
  }
  const auto is_idle = [](Queue* queue) { return queue->first_ == nullptr; };
  ++waiting_;
  while (awaiting_ > 0 || !std::all_of(queues_.begin(), queues_.end(), is_idle)) {
    if (Operation* operation = TakeFirstReady()) {
      RunOne(lock, operation);
    } else if (!AskFirst(lock)) {
      changed_.wait(lock);
    }
  }
  --waiting_;
  lock.unlock();
  runners_.Stop();
}

}  // namespace kdl::runtime
