// Threads that help with one job at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "kdl/runtime.h"
#include "system/threads.h"

namespace kdl::runtime {

// The caller of Run is worker 0; the others are threads, started at the first job that wants them.
// An idle thread spins for at most 50 microseconds and then sleeps.
class WorkerPool {
 public:
  // `workers` is 1 or more and counts the caller. Thread n stays on the n-th of `processors`, where there are
  // enough of them.
  // Where `hooks` has `run`, the application's threads work instead of the pool's own.
  WorkerPool(int workers, std::vector<int> processors, const kdl_hooks& hooks = {});
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int workers() const { return workers_; }

  // Calls work(n) on this thread with n = 0, and with other n below `workers` on the threads that
  // come in time, where all may come each with the same n every time; returns when all these calls have. So `work` must take its tasks from a shared
  // list, and the list must be empty when work(0) returns. One job runs at a time; others wait.
  void Run(int workers, const std::function<void(int)>& work);

 private:
  // The state of the present job in one word, so that a thread joins with one compare and swap.
  struct Job {
    std::uint32_t number;  // counts jobs
    std::uint16_t joined;  // threads that have joined
    std::uint16_t limit;   // threads that may; 0: closed
  };

  static void* ThreadMain(void* argument);
  void StartThreads();
  void WorkUntilStopped();
  bool TryJoin(int thread, std::uint32_t* last_job, int* worker);
  void Park(std::uint32_t last_job);
  void WaitForJoined();

  const int workers_;
  const std::vector<int> processors_;
  const kdl_hooks hooks_;
  std::mutex run_mutex_;  // held while a job runs
  std::vector<Thread> threads_;
  bool started_ = false;
  std::atomic<int> numbered_{0};  // threads that have their number

  // In one cache line, which brings a thread all that it needs to begin.
  alignas(64) std::atomic<Job> job_{Job{0, 0, 0}};
  const std::function<void(int)>* work_ = nullptr;  // of the open job
  std::atomic<bool> stop_{false};
  // How often threads have joined jobs and have left them again, all in all: no job begins with a reset, whose cache
  // line would have to come first.
  alignas(64) std::atomic<std::uint32_t> left_{0};
  alignas(64) std::uint32_t joined_ = 0;

  std::mutex park_mutex_;
  std::condition_variable unpark_;    // threads wait for a job
  std::condition_variable all_left_;  // the caller waits for threads
  std::atomic<int> parked_{0};
  std::atomic<bool> caller_waits_{false};
};

}  // namespace kdl::runtime
