// The threads that run operations which devices do not order themselves, so that all goes on with nobody
// waiting for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "system/threads.h"

namespace kdl::runtime {

// What runners run.
class ReadyWork {
 public:
  // Guards all work, and the runners.
  virtual std::mutex& mutex() = 0;
  // How much is ready, and how much may run at once at most.
  virtual int ready() const = 0;
  virtual int most_at_once() const = 0;
  // Runs the first that is ready, without the lock meanwhile; false: none is.
  virtual bool RunFirst(std::unique_lock<std::mutex>& lock) = 0;

 protected:
  ~ReadyWork() = default;
};

// The mutex of the work guards everything here. There are no more of them than operations that are
// ready or run at once; the first comes with the first operation.
//
// A caller often waits at once for what it gave, and then runs it itself, sooner than another thread could. So
// little work wakes nobody: one thread that has just been busy looks by itself every now and then.
class Runners {
 public:
  explicit Runners(ReadyWork& work) : work_(work) {}
  Runners(const Runners&) = delete;
  Runners& operator=(const Runners&) = delete;

  // Whether there is a thread, started now where there was none.
  bool HasOne() { return !threads_.empty() || Start(); }
  // Sees to it that what is ready gets run, without hurry where it is little.
  void Summon(bool is_little);
  // Ends the threads; called without the mutex, once nothing is ready any more.
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
  bool is_watched_ = false;     // one of the idle looks by itself
  std::uint64_t summoned_ = 0;  // how often
  bool stop_ = false;
};

}  // namespace kdl::runtime
