// Queues and the ordering of their operations, for all devices.
//
// Each context has one scheduler. Its mutex guards the state of all timelines and queues of the context. An
// operation starts when it is the first in its queue and every event that it waits for has completed. A
// device that orders operations itself receives an operation earlier: as soon as it has received everything
// that the operation waits for. Operations are started by a thread of the runtime (see runners.h), or by a
// caller's thread that waits for them. The thread that enqueued them or made them ready only starts those of a
// caller that asks for it.
//
// Some devices notice that an operation has ended only when they are asked to wait for it. They are asked by a
// caller's thread that waits, or by a thread of the runtime if something else depends on the operation.
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

// A queue: the ordered operations of one device.
class Queue {
 public:
  Queue(Device& device, std::int32_t index, std::shared_ptr<Scheduler> scheduler);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Device& device() const { return device_; }
  std::int32_t index() const { return index_; }
  // The caller that represents all users without their own handle.
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
  Operation* first_ = nullptr;  // the first operation that has not ended; it may be running
  // The first operation that neither runs nor was submitted to its device.
  Operation* waiting_ = nullptr;
  Operation* begun_ = nullptr;  // the last operation that has started and is still in the queue
  Operation* last_ = nullptr;
  std::size_t length_ = 0;
  bool busy_ = false;  // an operation is ready, runs on a thread, or is being submitted
  // The last operation whose end somebody needs, for a device that must be asked.
  std::uint64_t wanted_ = 0;
  bool is_asking_ = false;  // the queue is in the scheduler's list of those to ask
  Queue* next_asking_ = nullptr;
  // The time at which the queue's last operation ended. Set only if there is a trace.
  std::int64_t ended_ns_ = 0;
};

class Scheduler final : private ReadyWork {
 public:
  Scheduler();
  ~Scheduler();

  // The trace of operations and kernels, or null if there is none.
  Trace* trace() const { return trace_.get(); }

  // Fails in a forked child of the process that created the context, where no operation works.
  Error CheckProcess() const;
  bool in_child() const { return mark_.in_child(); }

  // Appends the operation to its queue. Stores the operation's event in `done` unless `done` is null. If
  // memory or threads run out, fails without any effect.
  Error Enqueue(Caller& caller, Ref<Operation> operation, std::span<kdl_event* const> after,
                Ref<Event>* done);
  // Enqueues the operation and waits until it has ended. Returns its failure if it failed. The calling thread
  // runs it if possible. The operation still belongs to the caller afterwards.
  Error RunAndWait(Caller& caller, Operation& operation, std::span<kdl_event* const> after);

  // Waits for the event. Returns the event's failure, or a timeout error. A negative timeout means no limit.
  Error Wait(const Event& event, std::int64_t timeout_ns);
  Error WaitForCaller(Caller& caller);
  // From now on, the thread that enqueues an operation of the caller runs it, if it can start then. The caller keeps `state`.
  void RunAtOnce(Caller& caller, std::unique_ptr<CallerState> state);
  // Whether an operation of the caller could start now, and no earlier one has failed without the caller knowing it.
  bool IsIdle(const Caller& caller);
  // Runs an operation of the caller if it is idle, and waits until the operation has ended. Returns false without any effect if it is
  // not. The operation still belongs to the calling function, and may run again. If the operation failed, stores its event
  // in `failed`.
  bool RunIfIdle(Caller& caller, Operation& operation, Ref<Event>* failed);
  bool IsDone(const Event& event);
  // Finds the device and the queue whose operation the event belongs to; the device is null for a timeline of
  // the caller. Returns whether this device itself can order other work after the operation: it has the
  // operation, and the operation cannot fail.
  bool IsOrderedByDevice(const Event& event, Device** device, std::int32_t* queue);
  // Fails the event's operation and everything that waits for it, unless the operation has already ended.
  Error Cancel(const Event& event);

  Error Signal(Timeline& timeline, std::uint64_t value);
  // Fails all points above the timeline's current value. If the timeline has already failed, the first cause
  // is kept.
  void Break(Timeline& timeline, FailurePtr cause);
  // Fails everything that waits for a caller's timeline. Called when the timeline can no longer be signalled.
  void Abandon(Timeline& timeline);
  std::uint64_t Value(const Timeline& timeline);
  std::uint64_t NextTimeline() { return ++timelines_; }

  // Turns on checks of ordering: from now on, unordered operations on the same memory fail.
  void CheckOrders();
  // Checks an access by the host. Called when the host maps a buffer, and after it has written to a mapped
  // buffer.
  Error CheckHostAccess(Buffer& buffer, bool writes);

  // Fails all operations that have not started, and waits for the others. No operation may be enqueued
  // afterwards.
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

  bool HasNothingLeft(const Caller& caller) const;
  Ref<Event> EventOfFailure(Caller& caller, const Operation& operation);
  void Admit(Caller& caller, Operation& operation, std::span<kdl_event* const> after);
  // Whether the thread that enqueues the operation starts it.
  static bool StartsHere(const Operation& operation);
  void Register(Operation& operation, std::span<kdl_event* const> after);
  void Finish(Operation& operation, Error error);
  // Lets a thread of the runtime finish the operation. `error` is what the operation's device has reported.
  void FinishLater(Operation& operation, Error error);
  // Removes operations that have ended from the front of the queue. Returns those that the queue owns. The
  // caller must release them without holding the lock.
  Operation* PopEnded(Queue& queue);
  // Whether the event's operation was submitted to the device of `waiting`, and this device itself waits for
  // it.
  bool IsWithDevice(const Queue& waiting, const Event& event) const;
  bool MayStart(const Queue& queue, const Operation& operation) const;
  // Record, for the trace, how long an operation waited before it started, and how long it ran.
  void NoteWait(Operation& operation) const;
  void NoteSpan(const Operation& operation) const;
  // Waits until the timeline has reached the point or the point has failed. In the latter case, stores the
  // reason in `cause`. Returns an error on timeout.
  Error Reach(Lock& lock, Timeline& timeline, std::uint64_t value, const ClockCell* cell,
              std::int64_t timeout_ns, FailurePtr* cause);
  void Learn(Timeline& timeline, std::uint64_t value, const ClockCell* cell);
  Clock ClockOf(const Timeline& timeline, std::uint64_t value, const ClockCell* cell) const;
  // Computes the clock of an operation that is about to start. Fails the operation if it races with another
  // operation.
  void CheckOrder(Operation& operation);
  FailurePtr FindRace(Operation& operation);
  // Called before and after a host call. The host call knows of everything that happened before it, and what
  // it does counts as done by the host. Operations that are enqueued after the call are therefore ordered
  // after it.
  void LearnInHostCall(Operation& operation);
  void LearnFromHostCall(Operation& operation);
  State Poll(const Timeline& timeline, std::uint64_t value, FailurePtr* cause) const;
  void Advance(Timeline& timeline, std::uint64_t value, FailurePtr failure);
  void WakeWaiters(Timeline& timeline);
  // Makes the first waiting operation of the queue ready if it may start. If `is_given_now`, the calling
  // function submits ready operations to the device itself.
  void MakeReady(Queue& queue, bool is_given_now = false);
  // Returns a ready operation on which the point depends, or null if there is none. `depth` is the number of
  // waits that have already been followed to get to this point.
  Operation* FindHelpful(const Timeline& timeline, std::uint64_t value, int depth = 0) const;
  void AddReady(Operation* operation);
  Operation* TakeFirstReady();
  void TakeReady(Operation* operation);
  void RunOne(Lock& lock, Operation* operation);
  // The first part of RunOne. It releases the lock. Returns whether the operation was submitted to its
  // device.
  bool Begin(Lock& lock, Operation* operation);
  // Notes that somebody needs the end of operation `value`, for a device that must be asked.
  void Want(Queue& queue, std::uint64_t value);
  // Lets a thread of the runtime wait for old operations if the queue is long, so that the memory of those
  // that have ended is released.
  void LimitLength(Queue& queue);
  // Lets a thread of the runtime ask the queue's device, if the device has an operation that somebody needs.
  void Ask(Queue& queue);
  // Asks the device of the first queue in the list. Returns false if the list is empty.
  bool AskFirst(Lock& lock);
  // Waits until the queue's device has ended operation `value`. It releases the lock meanwhile.
  void Await(Lock& lock, Queue& queue, std::uint64_t value);
  // Returns the queue whose device must be asked before the point can be reached, and changes `value` to the
  // operation to ask for. Returns null if there is none. `depth` is as in FindHelpful.
  Queue* FindAwaited(const Timeline& timeline, std::uint64_t* value, int depth = 0) const;
  // The second part of RunOne. It acquires the lock again.
  void Continue(Lock& lock, Queue& queue, bool is_with_device);

  const ForkMark mark_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;  // number of threads that wait for `changed_`
  // The list of ready operations, in the order in which they became ready.
  Operation* first_ready_ = nullptr;
  Operation* last_ready_ = nullptr;
  int ready_ = 0;  // also counts the queues whose devices must be asked
  // The list of queues whose devices the runtime's threads must ask.
  Queue* first_asking_ = nullptr;
  Queue* last_asking_ = nullptr;
  int awaiting_ = 0;  // number of threads in a device's `wait`
  std::vector<Queue*> queues_;
  bool is_closed_ = false;
  const FailurePtr no_memory_;  // used when there is no memory to create a failure
  const FailurePtr abandoned_;
  const FailurePtr closing_;
  std::atomic<std::uint64_t> timelines_{0};
  const std::unique_ptr<Trace> trace_ = Trace::FromEnvironment();
  std::unique_ptr<HostOrder> host_order_;  // null if ordering is not checked
  Runners runners_{*this};
};

}  // namespace kdl::runtime
