// Threads that run the operations that devices do not order themselves, so that these make progress even if
// nobody waits for them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "system/threads.h"

namespace kdl::runtime {

// The work that runners take.
class ReadyWork {
 public:
  // The mutex that guards the work and the runners.
  virtual std::mutex& mutex() = 0;
  // The number of ready operations, and the most that may run concurrently.
  virtual int ready() const = 0;
  virtual int most_at_once() const = 0;
  // Runs the first ready operation, without the lock meanwhile. Returns false if none is ready.
  virtual bool RunFirst(std::unique_lock<std::mutex>& lock) = 0;

 protected:
  ~ReadyWork() = default;
};

// A set of threads, guarded by the mutex of the work. There are never more threads than operations that are
// ready or may run concurrently; the first thread starts with the first operation.
//
// Callers often wait at once for what they enqueued and then run it themselves, sooner than another thread
// could. So short operations wake no thread; instead, a thread that was recently busy polls for them.
class Runners {
 public:
  explicit Runners(ReadyWork& work) : work_(work) {}
  Runners(const Runners&) = delete;
  Runners& operator=(const Runners&) = delete;

  // Whether there is a thread; starts one if there is none.
  bool HasOne() { return !threads_.empty() || Start(); }
  // Ensures that ready work gets run. If `is_little`, it need not be at once.
  void Summon(bool is_little);
  // Ends the threads. Called without the mutex, when nothing will become ready any more.
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
  bool is_watched_ = false;     // one of the idle threads polls
  std::uint64_t summoned_ = 0;  // the number of Summon calls
  bool stop_ = false;
};

}  // namespace kdl::runtime
