// Threads that run operations for devices that do not order operations themselves. They ensure progress even
// if no caller waits for the operations.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "system/threads.h"

namespace kdl::runtime {

// The work that the runners do.
class ReadyWork {
 public:
  // Returns the mutex that guards the work and the runners.
  virtual std::mutex& mutex() = 0;
  // Return the number of ready operations, and the maximum number that may run concurrently.
  virtual int ready() const = 0;
  virtual int most_at_once() const = 0;
  // Runs the first ready operation. Releases the lock while it runs. Returns false if no operation is ready.
  virtual bool RunFirst(std::unique_lock<std::mutex>& lock) = 0;

 protected:
  ~ReadyWork() = default;
};

// A set of threads, guarded by the work's mutex. A thread is added only if more operations are ready than
// threads are idle, and only up to the number of operations that may run concurrently. The first thread is
// started with the first operation.
//
// Callers often wait for an operation directly after they have enqueued it. In that case, they run it
// themselves before another thread could wake up. Short operations therefore wake no thread. Instead, a
// thread that was recently busy polls for them.
class Runners {
 public:
  explicit Runners(ReadyWork& work) : work_(work) {}
  Runners(const Runners&) = delete;
  Runners& operator=(const Runners&) = delete;

  // Whether there is a thread. If there is none, starts one.
  bool HasOne() { return !threads_.empty() || Start(); }
  // Ensures that ready work is run. If `is_little`, it need not be run immediately.
  void Summon(bool is_little);
  // Ends the threads. Call this without the mutex, after the last operation has become ready.
  void Stop();

 private:
  using Time = std::chrono::steady_clock::time_point;

  static void* ThreadMain(void* runners);
  bool Start();
  void RunUntilStopped();
  void Rest(std::unique_lock<std::mutex>& lock, std::uint64_t* seen, Time* since);

  ReadyWork& work_;
  std::vector<Thread> threads_;
  std::condition_variable summons_;
  int idle_ = 0;
  bool is_watched_ = false;     // whether one of the waiting threads polls
  std::uint64_t summoned_ = 0;  // number of Summon calls
  bool stop_ = false;
};

}  // namespace kdl::runtime
