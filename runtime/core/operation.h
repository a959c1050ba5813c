// One launch, copy, fill or host call, from when it is enqueued until it has ended.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/caller.h"
#include "core/timeline.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// An operation. Whatever it needs to end is allocated when it is enqueued, so ending it needs no memory.
class Operation : public Counted {
 public:
  // Updates statistics. Called once, before Start, with the scheduler's mutex held.
  virtual void Count() {}
  // Starts the work. Called once, with no lock held. Results in one call of Finish, after which the operation
  // may be gone.
  virtual void Start() = 0;
  // Releases what the work needed. Called once, after the work or instead of it, and before the operation's
  // event completes.
  virtual void Drop() = 0;
  // Asks running work to end early. Called with the scheduler's mutex held.
  virtual void Stop() {}
  // Whether the queue's device accepts it before the operations that it waits for on that device have ended.
  virtual bool is_early() const { return false; }
  // Whether it ends sooner than another thread would wake up.
  virtual bool is_little() const { return false; }
  // How many bytes it copies.
  virtual std::int64_t bytes_moved() const { return 0; }
  // For traces and checks of order: a description such as "launch of 'matmul'", and the memory that it
  // accesses.
  virtual std::string Describe() const = 0;
  virtual std::vector<Access> Accesses() const = 0;
  // Returns why it failed although its device reported success, or null. Must not throw.
  virtual Error Outcome() const { return nullptr; }
  // Whether it runs code of the caller, which then sees the effects of earlier operations and may access
  // buffers.
  virtual bool is_host_call() const { return false; }

  // Ends the operation; may be called from any thread.
  void Finish(Error error);
  // Returns a completion for a device, which calls Finish.
  kdl_completion Completion();

 protected:
  // Fills in the order and the completion of a submission.
  void Address(kdl_submission* submission);

 private:
  friend class Caller;
  friend class Queue;
  friend class Scheduler;

  Queue* queue_ = nullptr;
  Ref<Caller> caller_;
  Operation* next_ = nullptr;        // the next one in the queue
  Operation* next_ready_ = nullptr;  // the next one that is ready
  std::uint64_t value_ = 0;          // its point on the queue's timeline
  std::uint64_t told_ = 0;           // the caller's `told_` when it was enqueued
  std::int64_t given_ns_ = 0;  // when it was enqueued; this and the next two are only for traces
  std::int64_t waited_since_ns_ = 0;  // since when it has waited for an event; 0: it did not
  std::int64_t began_ns_ = 0;
  const Queue* awaited_ = nullptr;         // the queue of that event; null: the caller raises it
  bool is_borrowed_ = false;               // the caller owns it and waits for its end
  bool is_running_ = false;                // or is with its device
  bool goes_to_device_ = false;            // its device orders it
  bool is_with_device_ = false;            // the device has it now
  bool is_ready_ = false;                  // in the list of ready operations
  bool is_over_ = false;                   // ends as soon as it is the first of its queue
  std::atomic<bool> is_finished_ = false;  // with its failure, which is final then
  std::vector<PendingWait> waits_;
  int pending_ = 0;                   // the number of waits that are not left to the device
  std::vector<kdl_point> points_;     // the waits that are left to the device
  FailurePtr failure_;                // why it will not run, or has failed
  std::unique_ptr<OrderNote> order_;  // if orders are checked
};

}  // namespace kdl::runtime
