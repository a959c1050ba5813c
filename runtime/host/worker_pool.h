// A pool of threads that work together on one job at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "kdl/runtime.h"
#include "system/threads.h"

namespace kdl::runtime {

// A pool of threads. The caller of RunJob is worker 0. The other workers are threads, which are started with
// the first job that needs them. An idle thread first spins, so that it joins a job within a microsecond, and
// then sleeps.
class WorkerPool {
 public:
  static constexpr std::chrono::microseconds kUsualSpin{50};

  // `workers` is at least 1 and includes the caller. If there are enough `processors`, each thread is kept on
  // one of them, where the caller is not. If the hook `run` is set, threads of the application do the work instead of threads of
  // the pool. Threads spin for at most `spin`.
  WorkerPool(int workers, std::vector<int> processors, const kdl_hooks& hooks = {},
             std::chrono::microseconds spin = kUsualSpin);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int workers() const { return workers_; }

  // Calls work(0) on this thread, and work(n) for other n below `workers` on the threads that arrive in time.
  // Returns after all these calls have returned. If all threads may join, each of them has the same n in
  // every job. Threads may arrive late or not at all, so `work` must take its tasks from a shared list. The
  // list must be empty when work(0) returns. Only one job runs at a time; other callers wait. Returns whether the
  // work has been done: the hook `run` may have left out a call.
  [[nodiscard]] bool RunJob(int workers, const std::function<void(int)>& work);

 private:
  // The state of the current job. It fits in one word, so that a thread can join the job with one
  // compare-and-swap.
  struct Job {
    std::uint32_t number;  // the job's number
    std::uint16_t joined;  // number of threads that have joined
    std::uint16_t limit;   // maximum number of threads that may join; 0 if the job is closed
  };

  bool RunInHook(int workers, const std::function<void(int)>& work) const;
  static void* ThreadMain(void* argument);
  void StartThreads();
  void LeaveCallersProcessor();
  void WorkUntilStopped();
  bool TryJoin(int thread, std::uint32_t* last_job, int* worker);
  void Park(std::uint32_t last_job);
  void WaitForJoined();

  const int workers_;
  const std::vector<int> processors_;
  const kdl_hooks hooks_;
  const std::chrono::microseconds spin_;
  std::mutex run_mutex_;  // held while a job runs
  std::vector<Thread> threads_;
  std::vector<int>
      places_;  // the processor on which each thread is kept; empty if they are not kept
  int caller_was_on_ = -1;    // the caller's processor in the last job
  int no_thread_is_on_ = -1;  // a processor that is not among `places_`
  bool started_ = false;
  std::atomic<int> numbered_{0};  // number of threads that have been assigned a number

  // The next three members share a cache line, so that a thread needs to load only that line to start.
  alignas(64) std::atomic<Job> job_{Job{0, 0, 0}};
  const std::function<void(int)>* work_ = nullptr;  // the function of the open job
  std::atomic<bool> stop_{false};
  // The total numbers of times that threads have left and joined jobs. These counters are never reset,
  // because a reset at the start of each job would have to wait for their cache line.
  alignas(64) std::atomic<std::uint32_t> left_{0};
  alignas(64) std::uint32_t joined_ = 0;

  std::mutex park_mutex_;
  std::condition_variable unpark_;  // signalled for threads that wait for a job
  // Signalled for the caller that waits until all threads have left.
  std::condition_variable all_left_;
  std::atomic<int> parked_{0};
  std::atomic<bool> caller_waits_{false};
};

}  // namespace kdl::runtime
