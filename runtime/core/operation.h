// A launch, copy, fill or host call, from when it is enqueued until it ends.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/caller.h"
#include "core/timeline.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// An operation. Everything that is needed to end it is allocated when it is enqueued, so ending it needs no
// memory.
class Operation : public Counted {
 public:
  // Updates statistics. Called once, before Start, with the scheduler's mutex held.
  virtual void Count() {}
  // Starts the work. Called once, with no lock held. Must lead to exactly one call of Finish, after which the
  // operation may no longer exist.
  virtual void Start() = 0;
  // Releases what the work needed. Called once, after the work has ended and before the operation's event
  // completes. Also called if the operation never starts.
  virtual void Drop() = 0;
  // Asks running work to end early. Called with the scheduler's mutex held.
  virtual void Stop() {}
  // Whether the queue's device accepts the operation before its predecessors on that device have ended.
  virtual bool is_early() const { return false; }
  // Whether the device may receive nothing else from the queue before the operation has ended.
  virtual bool is_last() const { return false; }
  // Whether the operation takes less time than waking another thread.
  virtual bool is_little() const { return false; }
  // Returns the number of bytes that the operation copies.
  virtual std::int64_t bytes_moved() const { return 0; }
  // Return a description such as "launch of 'matmul'", and the memory that the operation accesses. Used for
  // traces and for checks of ordering.
  virtual std::string Describe() const = 0;
  virtual std::vector<Access> Accesses() const = 0;
  // Returns why the operation failed, or null if it did not. `error` is what its device reported. Called once,
  // after the work has ended, with no lock held. Must not throw.
  virtual Error Outcome(Error error) { return error; }
  // Whether Outcome must run on a thread of the runtime, rather than on the device's thread that completes the
  // operation, because it may wait for the device.
  virtual bool is_long_outcome() const { return false; }
  // Whether the operation runs code of the caller. Such code sees the effects of earlier operations and may
  // access buffers.
  virtual bool is_host_call() const { return false; }

  // Prepares an operation that has ended, and that its caller owns, to be enqueued again.
  void Renew();
  // Ends the operation. May be called from any thread.
  void Finish(Error error);
  // Returns a completion to pass to a device. The device calls it to finish the operation.
  kdl_completion Completion();

 protected:
  // Fills in the fields of a submission that are the same for all kinds of operations.
  void Address(kdl_submission* submission);

 private:
  friend class Caller;
  friend class Queue;
  friend class Scheduler;

  Queue* queue_ = nullptr;
  Ref<Caller> caller_;
  Operation* next_ = nullptr;        // the next operation in the queue
  Operation* next_ready_ = nullptr;  // the next operation in the list of ready ones
  std::uint64_t value_ = 0;          // the operation's point on the queue's timeline
  std::uint64_t told_ = 0;           // the caller's `told_` when the operation was enqueued
  // When the operation was enqueued. This and the next two members are used only for traces.
  std::int64_t given_ns_ = 0;
  std::int64_t waited_since_ns_ = 0;  // when it began to wait for an event; 0 if it did not wait
  std::int64_t began_ns_ = 0;
  const Queue* awaited_ = nullptr;  // the queue of the awaited event; null if a caller signals it
  // The caller owns the operation and waits until it has ended.
  bool is_borrowed_ = false;
  bool is_running_ = false;                // it runs, or was submitted to its device
  bool goes_to_device_ = false;            // the device orders it
  bool is_with_device_ = false;            // it was submitted to the device and has not ended
  bool is_ready_ = false;                  // it is in the list of ready operations
  bool is_reported_ = false;               // its device has completed it; `reported_` is the result
  bool is_over_ = false;                   // it ends as soon as it is the first in its queue
  std::atomic<bool> is_finished_ = false;  // once set, `failure_` is final
  std::vector<PendingWait> waits_;
  int pending_ = 0;                // number of waits that the device does not perform itself
  std::vector<kdl_point> points_;  // the waits that the device performs itself
  Error reported_;
  FailurePtr failure_;                // why it will not run, or why it has failed
  std::unique_ptr<OrderNote> order_;  // set only if ordering is checked
};

}  // namespace kdl::runtime
