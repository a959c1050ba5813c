// The device's queues. One thread runs the submitted operations, each as soon as everything that it waits for
// has ended.
#pragma once

#include <array>
#include <bitset>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "kdl/device_plugin.h"

namespace sample {

class Order {
 public:
  // A function that executes an operation and returns its error, or null on success.
  using Run = std::function<kdl_error*(const kdl_submission&)>;
  Order(const kdl_plugin_host& host, Run run);
  ~Order();
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;

  // May be called from any thread. Returns at once unless the queue is full. Cannot fail, since it allocates
  // no memory.
  void Submit(const kdl_submission& submission);

 private:
  static constexpr std::size_t kQueues = 64;
  static constexpr std::size_t kMostWaiting = 256;
  struct Queue {
    std::array<const kdl_submission*, kMostWaiting> waiting;  // ring buffer
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint64_t reached = 0;  // all operations up to this number have ended
    // `failed[number % size]` tells whether operation `number` failed. An operation only needs to know about
    // failures of operations that were in the queue at the same time, so older entries may be overwritten.
    std::bitset<2 * kMostWaiting> failed;
  };

  void RunUntilStopped();
  const kdl_submission* TakeReady();
  bool IsReady(const kdl_submission& submission) const;
  bool HasFailed(const kdl_submission& submission) const;
  void End(const kdl_submission& submission, kdl_error* error);

  const kdl_plugin_host& host_;
  const Run run_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::condition_variable has_room_;
  Queue queues_[kQueues];
  std::size_t turn_ = 0;  // the queue to serve next, round robin
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sample
