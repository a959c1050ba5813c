#include "order.h"

#include <algorithm>
#include <new>

namespace sample {

Order::Order(const kdl_plugin_host& host, Run run)
    : host_(host), run_(std::move(run)), thread_([this] { RunUntilStopped(); }) {}

Order::~Order() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Order::Submit(const kdl_submission& submission) {
  {
    std::unique_lock lock(mutex_);
    Queue& queue = queues_[submission.queue];
    has_room_.wait(lock, [&] { return queue.count < kMostWaiting; });
    queue.waiting[(queue.first + queue.count++) % kMostWaiting] = &submission;
  }
  changed_.notify_one();
}

void Order::RunUntilStopped() {
  for (;;) {
    const kdl_submission* next = nullptr;
    bool has_failed = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || (next = TakeReady()) != nullptr; });
      if (next == nullptr) return;
      has_failed = HasFailed(*next);
    }
    kdl_error* error = nullptr;
    try {
      error = has_failed ? host_.error_create(KDL_ERROR_DEVICE, "what it waits for has failed")
                         : run_(*next);
    } catch (const std::bad_alloc&) {
      error = host_.error_create(KDL_ERROR_OUT_OF_MEMORY, "not enough device memory");
    }
    End(*next, error);
  }
}

const kdl_submission* Order::TakeReady() {
  for (std::size_t n = 0; n < kQueues; ++n) {
    Queue& queue = queues_[turn_];
    turn_ = (turn_ + 1) % kQueues;
    const kdl_submission* first = queue.waiting[queue.first];
    if (queue.count == 0 || !IsReady(*first)) continue;
    queue.first = (queue.first + 1) % kMostWaiting;
    --queue.count;
    has_room_.notify_all();
    return first;
  }
  return nullptr;
}

bool Order::IsReady(const kdl_submission& submission) const {
  return std::all_of(
      submission.after, submission.after + submission.after_count,
      [&](const kdl_point& point) { return queues_[point.queue].reached >= point.number; });
}

bool Order::HasFailed(const kdl_submission& submission) const {
  return std::any_of(submission.after, submission.after + submission.after_count,
                     [&](const kdl_point& point) {
                       return queues_[point.queue].failed[point.number % (2 * kMostWaiting)];
                     });
}

// Completes an operation. The submission must not be used after its completion has been called.
void Order::End(const kdl_submission& submission, kdl_error* error) {
  {
    const std::lock_guard lock(mutex_);
    Queue& queue = queues_[submission.queue];
    queue.reached = submission.number;
    queue.failed[submission.number % (2 * kMostWaiting)] = error != nullptr;
  }
  submission.done.call(submission.done.context, error);
}

}  // namespace sample
