// Counters for tests and reports: what each device did, and what was transferred and why.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "kdl/runtime.h"

namespace kdl::runtime {

class DeviceCounters;

// Counts the calls of one bound call, of which only one runs at a time. So no atomic read-modify-write is
// needed, which takes 5 ns.
class CallCounter {
 public:
  explicit CallCounter(DeviceCounters& device);
  ~CallCounter();
  CallCounter(const CallCounter&) = delete;
  CallCounter& operator=(const CallCounter&) = delete;

  void Count() { calls_.store(calls() + 1, std::memory_order_relaxed); }
  std::int64_t calls() const { return calls_.load(std::memory_order_relaxed); }

 private:
  DeviceCounters& device_;
  std::atomic<std::int64_t> calls_{0};
};

// The counters of one device.
class DeviceCounters {
 public:
  // Called only with the scheduler's mutex held, so the increment need not be an atomic operation.
  void CountLaunch() {
    launches_.store(launches_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // Counts a launch that bypassed the scheduler.
  void CountCall() { calls_.fetch_add(1, std::memory_order_relaxed); }
  // Adds a counter to the calls of the device, or takes over its count.
  void Add(const CallCounter* counter);
  void Remove(const CallCounter* counter);
  void CountFill() { ++fills_; }
  void CountCopy(std::int64_t bytes) {
    ++copies_;
    bytes_copied_ += bytes;
  }
  void CountAllocation(std::int64_t bytes);
  void CountRelease(std::int64_t bytes) { bytes_in_use_ -= bytes; }

  kdl_statistics Read() const;

 private:
  std::atomic<std::int64_t> launches_{0};
  std::atomic<std::int64_t> calls_{0};
  mutable std::mutex counters_mutex_;
  std::vector<const CallCounter*> counters_;  // guarded by the mutex
  std::atomic<std::int64_t> copies_{0};
  std::atomic<std::int64_t> bytes_copied_{0};
  std::atomic<std::int64_t> fills_{0};
  std::atomic<std::int64_t> allocations_{0};
  std::atomic<std::int64_t> bytes_allocated_{0};
  std::atomic<std::int64_t> bytes_in_use_{0};
  std::atomic<std::int64_t> bytes_peak_{0};
};

// The transfers within one context. There are few entries, one for each cause and pair of devices, so a
// linear search is fast enough.
class TransferLog {
 public:
  void Add(const char* cause, const char* from, const char* to, const char* tensor,
           std::int64_t bytes);
  // Stores at most `capacity` transfers. Returns the total number of transfers.
  std::int64_t Read(kdl_transfer* transfers, std::int64_t capacity) const;

 private:
  struct Entry {
    std::string cause, from, to, tensor;
    std::int64_t count = 0;
    std::int64_t bytes = 0;
  };

  mutable std::mutex mutex_;
  // Sorted in an order that does not depend on timing. Entries never move, because callers have pointers to
  // their strings.
  std::list<Entry> entries_;
};

}  // namespace kdl::runtime
