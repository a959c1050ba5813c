// The users of a queue. A queue handle represents one caller, who is told of the failures of its own
// operations; these do not fail operations of other callers.
#pragma once

#include <cstdint>

#include "core/failure.h"
#include "core/ref.h"

namespace kdl::runtime {

class Operation;
class Queue;

// A caller of one queue, guarded by the scheduler's mutex.
class Caller final : public Counted {
 public:
  // If `is_own`, the handle was created for someone who frees it. Otherwise it is the queue's shared one and
  // lives as long as the queue.
  Caller(Queue& queue, bool is_own) : queue_(queue), is_own_(is_own) {}

  Queue& queue() const { return queue_; }
  bool is_own() const { return is_own_; }

 private:
  friend class Scheduler;

  // Records the failure of an operation that has left the queue.
  void Fail(const Operation& operation);
  // Whether the operation fails because it has failed itself, or because an earlier one had failed of which
  // the caller had not been told when this one was enqueued. This depends only on the caller's calls, not on
  // timing.
  bool Fails(const Operation& operation) const;
  // Copies the failure of an earlier operation to this one.
  void Inherit(Operation& operation) const;
  // Records that a wait has told the caller of the failure of the operation at `value`. Operations enqueued
  // so far fail with it; later ones do not.
  void Tell(std::uint64_t value) {
    if (value > told_) told_ = last_value_;
  }
  // Whether there is a failure that the caller has not been told of.
  bool has_failed() const { return failed_at_ > told_; }

  Queue& queue_;
  const bool is_own_;
  std::uint64_t last_value_ = 0;  // the last operation enqueued, as a point on the queue's timeline
  FailurePtr failed_;             // the first failure that the caller had not been told of
  std::uint64_t failed_at_ = 0;   // the last operation that failed with it
  std::uint64_t told_ = 0;        // the caller knows of failures up to here
};

}  // namespace kdl::runtime
