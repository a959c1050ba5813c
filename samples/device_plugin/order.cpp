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
    const std::lock_guard lock(mutex_);
    queues_[submission.queue].waiting.push_back(&submission);
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
      error = host_.error_create(KDL_ERROR_OUT_OF_MEMORY, "the device has no memory left");
    }
    End(*next, error);
  }
}

const kdl_submission* Order::TakeReady() {
  for (Queue& queue : queues_) {
    if (queue.waiting.empty() || !IsReady(*queue.waiting.front())) continue;
    const kdl_submission* ready = queue.waiting.front();
    queue.waiting.pop_front();
    return ready;
  }
  return nullptr;
}

bool Order::IsReady(const kdl_submission& submission) const {
  return std::all_of(
      submission.after, submission.after + submission.after_count,
      [&](const kdl_point& point) { return queues_[point.queue].reached >= point.number; });
}

bool Order::HasFailed(const kdl_submission& submission) const {
  return std::any_of(
      submission.after, submission.after + submission.after_count,
      [&](const kdl_point& point) { return queues_[point.queue].failed.contains(point.number); });
}

// The submission is gone once its completion has been called.
void Order::End(const kdl_submission& submission, kdl_error* error) {
  {
    const std::lock_guard lock(mutex_);
    Queue& queue = queues_[submission.queue];
    queue.reached = submission.number;
    if (error != nullptr) queue.failed.insert(submission.number);
  }
  submission.done.call(submission.done.context, error);
}

}  // namespace sample
