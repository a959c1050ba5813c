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

// A pool of threads. The caller of RunJob is worker 0. The other workers are threads, which are started with the
// first job that needs them. An idle thread spins for at most 50 microseconds and then sleeps.
class WorkerPool {
 public:
  // `workers` is at least 1 and includes the caller. Thread n is kept on the n-th of `processors`, if there
  // are enough processors. If `hooks` has `run`, the application's threads work instead of threads of the
  // pool.
  WorkerPool(int workers, std::vector<int> processors, const kdl_hooks& hooks = {});
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int workers() const { return workers_; }

  // Calls work(0) on this thread, and work(n) for other n below `workers` on the threads that arrive in time.
  // Returns when all these calls have returned. If all threads may join, each has the same n every time.
  // Threads may come late or not at all, so `work` must take its tasks from a shared list, which must be
  // empty when work(0) returns. Only one job runs at a time; other callers wait.
  void RunJob(int workers, const std::function<void(int)>& work);

 private:
  // The state of the current job in one word, so that a thread can join with one compare-and-swap.
  struct Job {
    std::uint32_t number;  // the job's number
    std::uint16_t joined;  // threads that have joined
    std::uint16_t limit;   // the most threads that may join; 0: closed
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
  std::atomic<int> numbered_{0};  // threads that have a number

  // In one cache line, which brings a thread all that it needs to start.
  alignas(64) std::atomic<Job> job_{Job{0, 0, 0}};
  const std::function<void(int)>* work_ = nullptr;  // the work of the open job
  std::atomic<bool> stop_{false};
  // The total numbers of times that threads have left and joined jobs. They are never reset, because starting
  // a job would then have to wait for their cache line.
  alignas(64) std::atomic<std::uint32_t> left_{0};
  alignas(64) std::uint32_t joined_ = 0;

  std::mutex park_mutex_;
  std::condition_variable unpark_;    // signals threads that wait for a job
  std::condition_variable all_left_;  // signals the caller that waits for threads
  std::atomic<int> parked_{0};
  std::atomic<bool> caller_waits_{false};
};

}  // namespace kdl::runtime
