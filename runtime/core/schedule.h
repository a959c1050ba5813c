// Queues and the order of their operations, for all devices.
//
// Each context has one scheduler, whose mutex guards the state of all timelines and queues of the context. An
// operation starts when it is the first of its queue and every event that it waits for has completed. If its
// device orders operations, it is submitted as soon as all operations that it waits for are with the device,
// too. Operations are started by a thread of the runtime (runners.h), or by a caller's thread that waits for
// them, but never by the thread that enqueued them or made them ready.
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

// The ordered operations of one device.
class Queue {
 public:
  Queue(Device& device, std::int32_t index, std::shared_ptr<Scheduler> scheduler);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Device& device() const { return device_; }
  std::int32_t index() const { return index_; }
  // The caller for everyone without a handle of their own.
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
  Operation* begun_ = nullptr;    // the last that has begun and is still here
  Operation* last_ = nullptr;
  std::size_t length_ = 0;
  bool busy_ = false;          // an operation is ready, runs here, or is being submitted
  std::int64_t ended_ns_ = 0;  // end of its last operation, if there is a trace
};

class Scheduler final : private ReadyWork {
 public:
  Scheduler();
  ~Scheduler();

  // The trace of what runs; null if there is none.
  Trace* trace() const { return trace_.get(); }

  // Fails in a process that was forked from the context's, where no operation works.
  Error CheckProcess() const;
  bool in_child() const { return mark_.in_child(); }

  // Appends the operation to its queue and stores its event, unless `done` is null. If memory or threads are
  // short, fails without any effect.
  Error Enqueue(Caller& caller, Ref<Operation> operation, std::span<kdl_event* const> after,
                Ref<Event>* done);
  // Enqueues the operation and returns when it has ended, with its failure if it failed. The caller's thread
  // runs it if possible. The operation still belongs to the caller.
  Error RunAndWait(Caller& caller, Operation& operation, std::span<kdl_event* const> after);

  // Waits for the event and returns its failure, or a timeout error. A negative timeout means no limit.
  Error Wait(const Event& event, std::int64_t timeout_ns);
  Error WaitForCaller(Caller& caller);
  bool IsDone(const Event& event);
  // Fails the event's operation and everything that waits for it, unless it has ended.
  Error Cancel(const Event& event);

  Error Signal(Timeline& timeline, std::uint64_t value);
  // Fails all points above the counter. The first cause is kept.
  void Break(Timeline& timeline, FailurePtr cause);
  // Called when the caller's timeline will not be raised any more: fails what waits for it.
  void Abandon(Timeline& timeline);
  std::uint64_t Value(const Timeline& timeline);
  std::uint64_t NextTimeline() { return ++timelines_; }

  // From now on, unordered operations on the same memory fail.
  void CheckOrders();
  // Called when the host maps a buffer, and when it has written to a mapped one.
  Error CheckHostAccess(Buffer& buffer, bool writes);

  // Fails what has not started and waits for the rest. Nothing may be enqueued afterwards.
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
  // Removes operations that have ended from the front. Returns those that the queue owns, to be released
  // without the lock.
  Operation* PopEnded(Queue& queue);
  // Whether the event's operation is with this device, which then waits for it itself.
  bool IsWithDevice(const Device& device, const Event& event) const;
  bool MayStart(const Queue& queue, const Operation& operation) const;
  // For the trace: record since when an operation that starts now has waited, and what has run.
  void NoteWait(Operation& operation) const;
  void NoteSpan(const Operation& operation) const;
  // Waits until the point has been reached or has failed; then stores the reason in `cause`. Fails with a
  // timeout.
  Error Reach(Lock& lock, Timeline& timeline, std::uint64_t value, const ClockCell* cell,
              std::int64_t timeout_ns, FailurePtr* cause);
  void Learn(Timeline& timeline, std::uint64_t value, const ClockCell* cell);
  Clock ClockOf(const Timeline& timeline, std::uint64_t value, const ClockCell* cell) const;
  // Computes the clock of an operation that may start now, and fails the operation if it races.
  void CheckOrder(Operation& operation);
  FailurePtr FindRace(Operation& operation);
  // A host call learns what came before it. Its effects are the host's, so what is enqueued after the call is
  // ordered after them.
  void LearnInHostCall(Operation& operation);
  void LearnFromHostCall(Operation& operation);
  State Poll(const Timeline& timeline, std::uint64_t value, FailurePtr* cause) const;
  void Advance(Timeline& timeline, std::uint64_t value, FailurePtr failure);
  void WakeWaiters(Timeline& timeline);
  // If `is_given_now`, the caller submits operations to the device itself.
  void MakeReady(Queue& queue, bool is_given_now = false);
  // Returns a ready operation that the point depends on, or null. `depth` is the length of the chain of waits
  // so far.
  Operation* FindHelpful(const Timeline& timeline, std::uint64_t value, int depth = 0) const;
  Operation* TakeFirstReady();
  void TakeReady(Operation* operation);
  void RunOne(Lock& lock, Operation* operation);
  // The first part of RunOne, which releases the lock. Returns whether the operation is now with its device.
  bool Begin(Lock& lock, Operation* operation);
  // The second part, which acquires the lock again.
  void Continue(Lock& lock, Queue& queue, bool is_with_device);

  const ForkMark mark_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;                   // threads waiting for changed_
  Operation* first_ready_ = nullptr;  // in the order in which they became ready
  Operation* last_ready_ = nullptr;
  int ready_ = 0;
  std::vector<Queue*> queues_;
  bool is_closed_ = false;
  const FailurePtr no_memory_;  // the failure used when there is no memory for another
  const FailurePtr abandoned_;
  const FailurePtr closing_;
  std::atomic<std::uint64_t> timelines_{0};
  const std::unique_ptr<Trace> trace_ = Trace::FromEnvironment();
  std::unique_ptr<HostOrder> host_order_;  // null: orders are not checked
  Runners runners_{*this};
};

}  // namespace kdl::runtime
