// The device's queues: one thread that runs what has been submitted, each operation once its points are reached.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "kdl/device_plugin.h"

namespace sample {

class Order {
 public:
  // `run` does an operation and gives its error.
  using Run = std::function<kdl_error*(const kdl_submission&)>;
  Order(const kdl_plugin_host& host, Run run);
  ~Order();
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;

  // From any thread; returns at once.
  void Submit(const kdl_submission& submission);

 private:
  static constexpr std::size_t kQueues = 64;
  struct Queue {
    std::deque<const kdl_submission*> waiting;
    std::uint64_t reached = 0;       // this device's event: all operations up to it have ended
    std::set<std::uint64_t> failed;  // those of them that did not succeed
  };

  void RunUntilStopped();
  const kdl_submission* TakeReady();
  bool IsReady(const kdl_submission& submission) const;
  bool HasFailed(const kdl_submission& submission) const;
  void End(const kdl_submission& submission, kdl_error* error);

  const kdl_plugin_host& host_;
  const Run run_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  Queue queues_[kQueues];
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sample
