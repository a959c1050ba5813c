// One launch, copy, fill or host call, from when it is given to a queue until it has ended.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/caller.h"
#include "core/timeline.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// What it needs to end, it has when it is given: no memory is asked for then.
class Operation : public Counted {
 public:
  // Called once, before Start, with the scheduler's mutex held.
  virtual void Count() {}
  // Begins the work; called once, with no lock held. Leads to one call of Finish, after which the operation
  // may be gone.
  virtual void Start() = 0;
  // Lets go of what the work needed. Called once, after the work or instead of it, and before the
  // operation's event completes.
  virtual void Drop() = 0;
  // Asks work that has begun to end early; called with the scheduler's mutex held.
  virtual void Stop() {}
  // Whether the device of its queue takes it before what it waits for there has ended.
  virtual bool is_early() const { return false; }
  // Whether it ends sooner than another thread wakes up.
  virtual bool is_little() const { return false; }
  // How much it moves from place to place.
  virtual std::int64_t bytes_moved() const { return 0; }
  // For traces and checks of order: "launch of 'matmul'", and the memory that it touches.
  virtual std::string Describe() const = 0;
  virtual std::vector<Access> Accesses() const = 0;
  // Why it has failed though its device says that it has not; null: it has not. Throws nothing.
  virtual Error Outcome() const { return nullptr; }
  // Whether the caller's code runs in it, which then sees what came before and may touch buffers.
  virtual bool is_host_call() const { return false; }

  // Ends the operation; from any thread.
  void Finish(Error error);
  // Finish as a device calls it.
  kdl_completion Completion();

 protected:
  // What a submission says of order, and whom it tells of the end.
  void Address(kdl_submission* submission);

 private:
  friend class Caller;
  friend class Queue;
  friend class Scheduler;

  Queue* queue_ = nullptr;
  Ref<Caller> caller_;
  Operation* next_ = nullptr;         // after it in the queue
  Operation* next_ready_ = nullptr;   // after it among those that are ready
  std::uint64_t value_ = 0;           // on the queue's timeline
  std::uint64_t told_ = 0;            // the caller's when it was given
  std::int64_t given_ns_ = 0;         // where there is a trace, as the next two
  std::int64_t waited_since_ns_ = 0;  // for an event; 0: for none
  std::int64_t began_ns_ = 0;
  const Queue* awaited_ = nullptr;         // the queue of that event; null: the caller raises it
  bool is_borrowed_ = false;               // it stays the caller's, who waits for its end
  bool is_running_ = false;                // or with its device
  bool goes_to_device_ = false;            // its device orders it
  bool is_with_device_ = false;            // which has it now
  bool is_ready_ = false;                  // among those that are
  bool is_over_ = false;                   // as soon as it is the first of its queue, it has ended
  std::atomic<bool> is_finished_ = false;  // with its failure, which stays then
  std::vector<PendingWait> waits_;
  int pending_ = 0;                   // of the waits, those that the device does not make itself
  std::vector<kdl_point> points_;     // those that it does
  FailurePtr failure_;                // why it will not run, or will have failed
  std::unique_ptr<OrderNote> order_;  // where orders are checked
};

}  // namespace kdl::runtime
