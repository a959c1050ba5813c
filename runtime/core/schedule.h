// What runs when: timelines, events, queues and the operations in them. Written once, for all
// devices.
//
// One scheduler a context; its mutex guards the state of all timelines and queues of the context.
// An operation starts when it is the first of its queue and every event that it waits for has
// completed. It is started by whichever thread made it ready, or by a thread that waits for an
// event, so a device whose operations end before they return needs no thread of the runtime at all.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/order.h"
#include "core/ref.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

class Device;
class Operation;
class Queue;
class Scheduler;
class Timeline;

// The first cause that everything downstream shares.
struct Failure {
  kdl_code code = KDL_OK;
  std::string message;
  // Whether a wait has given it to the caller; guarded by the scheduler's mutex.
  bool reported = false;

  Error ToError() const { return Fail(code, message); }
};
using FailurePtr = std::shared_ptr<Failure>;

FailurePtr MakeFailure(const Error& error);

// A point on a timeline.
class Event : public Counted {
 public:
  // `cell` is the operation's that the event stands for, where orders are checked.
  Event(Ref<Timeline> timeline, std::uint64_t value, std::shared_ptr<ClockCell> cell = nullptr);
  ~Event() override;

  Timeline& timeline() const { return *timeline_; }
  std::uint64_t value() const { return value_; }

 private:
  friend class Scheduler;

  Ref<Timeline> timeline_;
  std::uint64_t value_;
  std::shared_ptr<ClockCell> cell_;
};

// A counter that only rises.
class Timeline : public Counted {
 public:
  Timeline(std::shared_ptr<Scheduler> scheduler, std::uint64_t value);
  ~Timeline() override;

  Scheduler& scheduler() const { return *scheduler_; }

 private:
  friend class Scheduler;
  struct FailedSpan {
    std::uint64_t first;
    std::uint64_t last;
    FailurePtr cause;
  };
  std::shared_ptr<Scheduler> scheduler_;
  std::uint64_t id_;  // of the scheduler's timelines, from 1
  std::uint64_t value_;
  Clock clock_;  // of the last operation started, where it is a queue's
  std::map<std::uint64_t, Clock>
      signals_;                     // what was known at each signal, where it is the caller's
  std::vector<FailedSpan> failed_;  // at or below value_, ascending
  FailurePtr broken_;               // everything above value_ has failed
  std::multimap<std::uint64_t, Ref<Operation>> waiters_;  // by the value that they wait for
};

// One launch, copy, fill or host call.
class Operation : public Counted {
 public:
  // Begins the work; called once, with no lock held. Leads to one call of Finish.
  virtual void Start() = 0;
  // Lets go of what the work needed. Called once, after the work or instead of it, and before the
  // operation's event completes.
  virtual void Drop() = 0;
  // For checks of order: "launch of 'matmul'", and the memory that it touches.
  virtual std::string Describe() const = 0;
  virtual std::vector<Access> Accesses() const = 0;
  // Whether the caller's code runs in it, which then sees what came before and may touch buffers.
  virtual bool is_host_call() const { return false; }

  // Ends the operation; from any thread.
  void Finish(Error error);
  // Finish as a device calls it.
  kdl_completion Completion();

 private:
  friend class Scheduler;

  Queue* queue_ = nullptr;
  std::uint64_t value_ = 0;  // on the queue's timeline
  int waits_ = 0;            // events that are still pending
  bool finished_ = false;
  FailurePtr failure_;                // why it will not run
  std::unique_ptr<OrderNote> order_;  // where orders are checked
};

// Operations of one device, in order.
class Queue {
 public:
  Queue(Device& device, std::int32_t index, std::shared_ptr<Scheduler> scheduler);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Device& device() const { return device_; }
  std::int32_t index() const { return index_; }
  Scheduler& scheduler() const { return *scheduler_; }

 private:
  friend class Operation;
  friend class Scheduler;

  Device& device_;
  std::int32_t index_;
  std::shared_ptr<Scheduler> scheduler_;
  Ref<Timeline> timeline_;
  std::uint64_t last_value_ = 0;
  std::deque<Ref<Operation>> operations_;  // not finished yet; the first may be running
  bool busy_ = false;                      // the first is ready or running
  FailurePtr failed_;                      // the last failure of an operation here
};

class Scheduler {
 public:
  // Puts the operation behind the queue's others. Gives its event where `wants_event`.
  Ref<Event> Enqueue(Queue& queue, Ref<Operation> operation, std::span<kdl_event* const> after,
                     bool wants_event);

  // Gives the event's failure, or a timeout; a negative timeout is none.
  Error Wait(const Event& event, std::int64_t timeout_ns);
  Error WaitForQueue(Queue& queue);
  bool IsDone(const Event& event);

  Error Signal(Timeline& timeline, std::uint64_t value);
  // Fails what lies above the counter. The first cause stays.
  void Break(Timeline& timeline, FailurePtr cause);
  std::uint64_t Value(const Timeline& timeline);

  // From now on, operations that touch the same memory without order fail.
  void CheckOrders();
  // The host maps a buffer, or has written to one that it had mapped.
  Error CheckHostAccess(Buffer& buffer, bool writes);

  // Fails what has not started and waits for the rest. Nothing may be enqueued from now on.
  void Shutdown();

 private:
  friend class Operation;
  friend class Queue;
  friend class Timeline;
  using Lock = std::unique_lock<std::mutex>;
  enum class State { kPending, kDone, kFailed };

  void Finish(Operation& operation, FailurePtr failure);
  Error WaitLocked(Lock& lock, Timeline& timeline, std::uint64_t value, const ClockCell* cell,
                   std::int64_t timeout_ns);
  void Learn(Timeline& timeline, std::uint64_t value, const ClockCell* cell);
  Clock ClockOf(const Timeline& timeline, std::uint64_t value, const ClockCell* cell) const;
  // Computes the clock of an operation that starts. Gives a failure where it races.
  FailurePtr CheckOrder(Operation& operation);
  // What a host call did, the host did: what comes after the call comes after that.
  void LearnFromHostCall(Operation& operation);
  State Poll(const Timeline& timeline, std::uint64_t value, FailurePtr* cause) const;
  void Advance(Timeline& timeline, std::uint64_t value, FailurePtr failure);
  void WakeWaiters(Timeline& timeline);
  void MakeReady(Queue& queue);
  bool IsDraining() const;  // this thread
  void Drain(Lock& lock);
  void RunOne(Lock& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;  // threads in changed_
  std::deque<Ref<Operation>> ready_;
  std::vector<std::thread::id> draining_;  // threads that will run what is ready
  std::vector<Queue*> queues_;
  FailurePtr closed_;
  std::uint64_t timelines_ = 0;
  std::unique_ptr<HostOrder> host_order_;  // null: orders are not checked
};

}  // namespace kdl::runtime
