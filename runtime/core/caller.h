// Who gives operations to a queue: what a handle of it stands for. A caller is told of the failures of its own
// operations, and they fail nothing of other callers.
#pragma once

#include <cstdint>

#include "core/failure.h"
#include "core/ref.h"

namespace kdl::runtime {

class Operation;
class Queue;

// Of one queue; the scheduler's mutex guards it.
class Caller final : public Counted {
 public:
  // `is_own`: made for somebody who frees it. The queue's other one goes with the queue.
  Caller(Queue& queue, bool is_own) : queue_(queue), is_own_(is_own) {}

  Queue& queue() const { return queue_; }
  bool is_own() const { return is_own_; }

 private:
  friend class Scheduler;

  // Notes the failure of an operation that has left the queue.
  void Fail(const Operation& operation);
  // Whether the operation fails, or one before it has, of which the caller had not been told when it was
  // given: which these are depends on the caller's calls alone, not on when what ran.
  bool Fails(const Operation& operation) const;
  // Gives it the failure of what was before it.
  void Inherit(Operation& operation) const;
  // A wait gives the caller the failure of the operation at `value`. What has been given by now fails with
  // it; what is given from now on does not.
  void Tell(std::uint64_t value) {
    if (value > told_) told_ = last_value_;
  }
  // Whether there is a failure of which the caller has not been told.
  bool has_failed() const { return failed_at_ > told_; }

  Queue& queue_;
  const bool is_own_;
  std::uint64_t last_value_ = 0;  // of the last operation given, on the queue's timeline
  FailurePtr failed_;  // the first failure of those here that the caller had not been told of
  std::uint64_t failed_at_ = 0;  // the last that failed, of it or after it
  std::uint64_t told_ = 0;       // what failed up to here the caller has been told of
};

}  // namespace kdl::runtime
