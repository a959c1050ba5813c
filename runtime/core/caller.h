// The users of a queue. Each queue handle represents a caller. A caller learns only of failures of its own
// operations, and its failures do not affect the operations of other callers.
#pragma once

#include <cstdint>
#include <memory>

#include "core/failure.h"
#include "core/ref.h"

namespace kdl::runtime {

class Operation;
class Queue;

// What the C interface keeps for a caller.
class CallerState {
 public:
  CallerState() = default;
  CallerState(const CallerState&) = delete;
  CallerState& operator=(const CallerState&) = delete;
  virtual ~CallerState() = default;
};

// A caller of one queue. It is guarded by the scheduler's mutex.
class Caller final : public Counted {
 public:
  // If `is_own`, the handle was created on request, and its user frees it. Otherwise it is the queue's shared
  // handle, which exists as long as the queue.
  Caller(Queue& queue, bool is_own) : queue_(queue), is_own_(is_own) {}

  Queue& queue() const { return queue_; }
  bool is_own() const { return is_own_; }
  // Whether the thread that enqueues an operation also runs it, if it can start then.
  bool runs_at_once() const { return runs_at_once_; }
  // For a caller that runs at once, or else null.
  CallerState* state() const { return state_.get(); }

 private:
  friend class Scheduler;

  // Records the failure of an operation that has left the queue.
  void Fail(const Operation& operation);
  // Whether the operation counts as failed. That is the case if it has failed itself. It is also the case if
  // an earlier operation fails and the caller had not been told of that failure when this operation was
  // enqueued. The result depends only on the caller's calls, not on timing.
  bool Fails(const Operation& operation) const;
  // If `operation` counts as failed because of an earlier failure, stores that failure in it.
  void Inherit(Operation& operation) const;
  // Records that a wait has told the caller that the operation at point `value` has failed. Operations that
  // were enqueued before this call also fail for that reason; later operations do not.
  void Tell(std::uint64_t value) {
    if (value > told_) told_ = last_value_;
  }
  // Whether an operation has failed and the caller has not been told of it.
  bool has_failed() const { return failed_at_ > told_; }

  Queue& queue_;
  const bool is_own_;
  bool runs_at_once_ = false;
  std::unique_ptr<CallerState> state_;
  std::uint64_t last_value_ = 0;  // point of the last enqueued operation on the queue's timeline
  FailurePtr failed_;             // the first failure since the caller was last told of one
  std::uint64_t failed_at_ = 0;   // point of the last operation that failed because of `failed_`
  std::uint64_t told_ = 0;        // the caller has been told of failures up to this point
};

}  // namespace kdl::runtime
