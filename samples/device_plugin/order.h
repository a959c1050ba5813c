// The device's queues: one thread that runs what has been submitted, each operation once its points are reached.
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
  // `run` does an operation and gives its error.
  using Run = std::function<kdl_error*(const kdl_submission&)>;
  Order(const kdl_plugin_host& host, Run run);
  ~Order();
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;

  // From any thread; returns at once, unless the queue is full. Takes no memory: it cannot fail.
  void Submit(const kdl_submission& submission);

 private:
  static constexpr std::size_t kQueues = 64;
  static constexpr std::size_t kMostWaiting = 256;
  struct Queue {
    std::array<const kdl_submission*, kMostWaiting> waiting;  // a ring
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint64_t reached = 0;  // this device's event: all operations up to it have ended
    // Whether operation `number % size` did not succeed. What waits for one knows of no older failures than
    // of operations that were here with it.
    std::bitset<2 * kMostWaiting> failed;
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
  std::condition_variable has_room_;
  Queue queues_[kQueues];
  std::size_t turn_ = 0;  // of the queues: each comes when all others have
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sample
