// What runs when: queues and the operations in them. Written once, for all devices.
//
// One scheduler a context; its mutex guards the state of all timelines and queues of the context.
// An operation starts when it is the first of its queue and every event that it waits for has completed;
// one that its device orders is given to the device when all of these are with the device, too.
// A thread of the runtime starts it (runners.h), or the caller's own where that waits for it; never the
// thread that gave it or that made it ready.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/caller.h"
#include "core/operation.h"
#include "core/runners.h"
#include "core/trace.h"
#include "system/fork_mark.h"

namespace kdl::runtime {

class Device;

// Operations of one device, in order.
class Queue {
 public:
  Queue(Device& device, std::int32_t index, std::shared_ptr<Scheduler> scheduler);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Device& device() const { return device_; }
  std::int32_t index() const { return index_; }
  // All who have no handle of their own.
  Caller& caller() const { return *caller_; }
  Scheduler& scheduler() const { return *scheduler_; }

 private:
  friend class Operation;
  friend class Scheduler;

  void Append(Operation* operation);
  Operation* PopFirst();

  Device& device_;
  std::int32_t index_;
  std::shared_ptr<Scheduler> scheduler_;
  Ref<Timeline> timeline_;
  Ref<Caller> caller_;
  std::uint64_t last_value_ = 0;
  Operation* first_ = nullptr;    // not finished yet; may be running
  Operation* waiting_ = nullptr;  // the first that is neither running nor with the device
  Operation* begun_ = nullptr;    // the last that began, as long as it is here
  Operation* last_ = nullptr;
  std::size_t length_ = 0;
  bool busy_ = false;          // one is ready, or runs here, or goes to the device
  std::int64_t ended_ns_ = 0;  // its last operation, where there is a trace
};

class Scheduler final : private ReadyWork {
 public:
  Scheduler();
  ~Scheduler();

  // Where what runs is noted; null: nowhere.
  Trace* trace() const { return trace_.get(); }

  // Fails in a process that was forked from the context's: nothing works there.
  Error CheckProcess() const;
  bool in_child() const { return mark_.in_child(); }

  // Puts the operation after the queue's others and stores its event where `done` is not null. Fails, with
  // nothing done, where memory or threads are short.
  Error Enqueue(Caller& caller, Ref<Operation> operation, std::span<kdl_event* const> after,
                Ref<Event>* done);
  // The same, and returns when it is over, with what it failed of; the caller works on it where it can. The
  // operation stays the caller's.
  Error Run(Caller& caller, Operation& operation, std::span<kdl_event* const> after);

  // Gives the event's failure, or a timeout; a negative timeout is none.
  Error Wait(const Event& event, std::int64_t timeout_ns);
  Error WaitForCaller(Caller& caller);
  bool IsDone(const Event& event);
  // Fails the event's operation and what comes after it, if it has not ended.
  Error Cancel(const Event& event);

  Error Signal(Timeline& timeline, std::uint64_t value);
  // Fails what lies above the counter. The first cause stays.
  void Break(Timeline& timeline, FailurePtr cause);
  // Nobody will raise the caller's timeline any more: what waits for it fails.
  void Abandon(Timeline& timeline);
  std::uint64_t Value(const Timeline& timeline);
  std::uint64_t NextTimeline() { return ++timelines_; }

  // From now on, operations that touch the same memory without order fail.
  void CheckOrders();
  // The host maps a buffer, or has written to one that it had mapped.
  Error CheckHostAccess(Buffer& buffer, bool writes);

  // Fails what has not started and waits for the rest. Nothing may be enqueued from now on.
  void Shutdown();

 private:
  friend class Operation;
  friend class Queue;
  using Lock = std::unique_lock<std::mutex>;
  enum class State { kPending, kDone, kFailed };

  std::mutex& mutex() override { return mutex_; }
  int ready() const override { return ready_; }
  int most_at_once() const override { return static_cast<int>(queues_.size()); }
  bool RunFirst(Lock& lock) override;

  void Admit(Caller& caller, Operation& operation, std::span<kdl_event* const> after);
  void Register(Operation& operation, std::span<kdl_event* const> after);
  void Finish(Operation& operation, Error error);
  // Takes what is over from the front. Gives the queue's own ones, to be released without the lock.
  Operation* PopEnded(Queue& queue);
  // Whether the point is of an operation that is with this device, which then waits itself.
  bool IsWithDevice(const Device& device, const Event& event) const;
  bool MayStart(const Queue& queue, const Operation& operation) const;
  // For the trace: since when an operation that begins now has waited, and what has run.
  void NoteWait(Operation& operation) const;
  void NoteSpan(const Operation& operation) const;
  // Returns when the point is over, with why it failed, if so, in `cause`, or fails with a timeout.
  Error Reach(Lock& lock, Timeline& timeline, std::uint64_t value, const ClockCell* cell,
              std::int64_t timeout_ns, FailurePtr* cause);
  void Learn(Timeline& timeline, std::uint64_t value, const ClockCell* cell);
  Clock ClockOf(const Timeline& timeline, std::uint64_t value, const ClockCell* cell) const;
  // Computes the clock of an operation that may start now, and fails it where it races.
  void CheckOrder(Operation& operation);
  FailurePtr FindRace(Operation& operation);
  // A host call knows what came before it. What it did, the host did: what comes after the call comes after
  // that.
  void LearnInHostCall(Operation& operation);
  void LearnFromHostCall(Operation& operation);
  State Poll(const Timeline& timeline, std::uint64_t value, FailurePtr* cause) const;
  void Advance(Timeline& timeline, std::uint64_t value, FailurePtr failure);
  void WakeWaiters(Timeline& timeline);
  // `is_given_now`: the caller takes what goes to a device itself.
  void MakeReady(Queue& queue, bool is_given_now = false);
  // The ready operation without which the point does not come, or null. `depth`: how many led here.
  Operation* FindHelpful(const Timeline& timeline, std::uint64_t value, int depth = 0) const;
  Operation* TakeFirstReady();
  void TakeReady(Operation* operation);
  void RunOne(Lock& lock, Operation* operation);
  // The first part of it, which gives the lock up; true: the operation is with its device.
  bool Begin(Lock& lock, Operation* operation);
  // The second, which takes it again.
  void Continue(Lock& lock, Queue& queue, bool is_with_device);

  const ForkMark mark_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;                   // threads in changed_
  Operation* first_ready_ = nullptr;  // in the order in which they became so
  Operation* last_ready_ = nullptr;
  int ready_ = 0;
  std::vector<Queue*> queues_;
  bool is_closed_ = false;
  const FailurePtr no_memory_;  // for what fails where there is none for a failure of its own
  const FailurePtr abandoned_;
  const FailurePtr closing_;
  std::atomic<std::uint64_t> timelines_{0};
  const std::unique_ptr<Trace> trace_ = Trace::FromEnvironment();
  std::unique_ptr<HostOrder> host_order_;  // null: orders are not checked
  Runners runners_{*this};
};

}  // namespace kdl::runtime
