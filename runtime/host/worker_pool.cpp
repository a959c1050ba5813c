#include "host/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "system/float_state.h"

namespace kdl::runtime {

namespace {

using SteadyClock = std::chrono::steady_clock;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `ready()` is true, but for at most about `most`. Returns the last result of `ready()`.
template <class Ready>
bool Spin(std::chrono::microseconds most, Ready ready) {
  const auto look = [&] {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      Pause();
    }
    return false;
  };
  // Check before reading the clock, because reading it takes longer than some launches.
  if (look()) return true;
  const SteadyClock::time_point end = SteadyClock::now() + most;
  do {
    if (look()) return true;
  } while (SteadyClock::now() < end);
  return false;
}

}  // namespace

WorkerPool::WorkerPool(int workers, std::vector<int> processors, const kdl_hooks& hooks,
                       std::chrono::microseconds spin)
    : workers_(workers), processors_(std::move(processors)), hooks_(hooks), spin_(spin) {}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(park_mutex_);
    stop_ = true;
  }
  unpark_.notify_all();
  for (Thread thread : threads_) JoinThread(thread);
}

// If the system provides fewer threads than requested, the pool works with those that it has.
void WorkerPool::StartThreads() {
  started_ = true;
  threads_.reserve(static_cast<std::size_t>(workers_));
  const bool can_pin = static_cast<int>(processors_.size()) >= workers_;
  for (int worker = 1; worker < workers_; ++worker) {
    Thread thread;
    if (!StartThread(ThreadMain, this, &thread)) return;
    threads_.push_back(thread);
    if (!can_pin) continue;
    places_.push_back(processors_[static_cast<std::size_t>(worker)]);
    KeepTo(thread, places_.back());
  }
}

// A thread that is kept on the caller's processor could only run when the caller has finished its own work. If
// the caller stays on such a processor, moves the thread to a processor of its own.
void WorkerPool::LeaveCallersProcessor() {
  if (places_.empty()) return;
  const int here = CurrentProcessor();
  if (here == no_thread_is_on_) return;
  if (here != std::exchange(caller_was_on_, here)) return;
  const auto there = std::find(places_.begin(), places_.end(), here);
  if (there != places_.end()) {
    const auto unused = std::find_if(processors_.begin(), processors_.end(), [&](int processor) {
      return std::find(places_.begin(), places_.end(), processor) == places_.end();
    });
    if (unused == processors_.end()) return;
    *there = *unused;
    KeepTo(threads_[static_cast<std::size_t>(there - places_.begin())], *unused);
  }
  no_thread_is_on_ = here;
}

bool WorkerPool::RunInHook(int workers, const std::function<void(int)>& work) const {
  struct Job {
    const std::function<void(int)>& work;
    int workers;
    std::atomic<int> calls = 0;
  } job{work, workers};
  const auto call = [](void* argument, std::int32_t n) {
    const FloatScope floats;
    Job& called = *static_cast<Job*>(argument);
    if (n < 0 || n >= called.workers) return;
    called.work(n);
    ++called.calls;
  };
  const FloatScope floats;  // the hook may change the floating-point state
  hooks_.run(hooks_.user, workers, call, &job);
  return job.calls == workers;
}

bool WorkerPool::RunJob(int workers, const std::function<void(int)>& work) {
  if (workers <= 1) {
    work(0);
    return true;
  }
  if (hooks_.run != nullptr) return RunInHook(workers, work);
  const std::lock_guard run_lock(run_mutex_);
  if (!started_) StartThreads();
  LeaveCallersProcessor();
  const auto limit =
      static_cast<std::uint16_t>(std::min<std::size_t>(threads_.size(), workers - 1));
  work_ = &work;
  const std::uint32_t number = job_.load().number + 1;
  job_ = Job{number, 0, limit};
  if (parked_ > 0) {
    // The lock ensures that no wakeup is lost. A thread counts itself as parked under this lock, before it
    // checks for a job for the last time.
    const std::lock_guard lock(park_mutex_);
    unpark_.notify_all();
  }
  work(0);
  joined_ += job_.exchange(Job{number, 0, 0}).joined;
  WaitForJoined();
  return true;
}

void WorkerPool::WaitForJoined() {
  const auto all_left = [&] { return left_ == joined_; };
  if (Spin(spin_, all_left)) return;
  std::unique_lock lock(park_mutex_);
  caller_waits_ = true;
  all_left_.wait(lock, all_left);
  caller_waits_ = false;
}

void* WorkerPool::ThreadMain(void* argument) {
  static_cast<WorkerPool*>(argument)->WorkUntilStopped();
  return nullptr;
}

void WorkerPool::WorkUntilStopped() {
  const int thread = ++numbered_;
  std::uint32_t last_job = 0;
  int worker = 0;
  while (!stop_) {
    if (!Spin(spin_, [&] { return stop_ || TryJoin(thread, &last_job, &worker); })) {
      Park(last_job);
      continue;
    }
    if (stop_) return;
    (*work_)(worker);
    ++left_;
    if (caller_waits_) {
      const std::lock_guard lock(park_mutex_);
      all_left_.notify_one();
    }
  }
}

// Joins the current job. Returns false if the job is closed or full, or if this thread has already joined it.
bool WorkerPool::TryJoin(int thread, std::uint32_t* last_job, int* worker) {
  Job job = job_.load();
  while (job.number != *last_job && job.joined < job.limit) {
    Job joined = job;
    ++joined.joined;
    if (job_.compare_exchange_weak(job, joined)) {
      *last_job = job.number;
      const bool all_may = job.limit == workers_ - 1;
      *worker = all_may ? thread : joined.joined;
      return true;
    }
  }
  return false;
}

void WorkerPool::Park(std::uint32_t last_job) {
  std::unique_lock lock(park_mutex_);
  ++parked_;
  unpark_.wait(lock, [&] {
    const Job job = job_.load();
    return stop_ || (job.number != last_job && job.joined < job.limit);
  });
  --parked_;
}

}  // namespace kdl::runtime
