#include "core/runners.h"

#include <new>

namespace kdl::runtime {

namespace {

// After a thread has run work, it polls for more work for kWatch, at intervals of kGlance.
constexpr std::chrono::milliseconds kWatch{5};
constexpr std::chrono::microseconds kGlance{100};

}  // namespace

bool Runners::Start() {
  threads_.reserve(threads_.size() + 1);
  Thread thread;
  if (!StartThread(ThreadMain, this, &thread)) return false;
  threads_.push_back(thread);
  return true;
}

void Runners::Summon(bool is_little) {
  ++summoned_;
  if (stop_) return;
  const auto started = static_cast<int>(threads_.size());
  // If creating a thread fails, existing threads run the work later.
  if (work_.ready() > idle_ && started < work_.most_at_once()) {
    try {
      Start();
    } catch (const std::bad_alloc&) {
    }
  }
  if (idle_ > 0 && (!is_little || !is_watched_)) summons_.notify_one();
}

void Runners::Stop() {
  {
    const std::lock_guard lock(work_.mutex());
    stop_ = true;
    summons_.notify_all();
  }
  for (Thread thread : threads_) JoinThread(thread);
  threads_.clear();
}

void* Runners::ThreadMain(void* runners) {
  static_cast<Runners*>(runners)->RunUntilStopped();
  return nullptr;
}

void Runners::RunUntilStopped() {
  std::unique_lock lock(work_.mutex());
  std::uint64_t seen = summoned_;
  Time since = std::chrono::steady_clock::now();
  while (!stop_) {
    if (!work_.RunFirst(lock)) Rest(lock, &seen, &since);
  }
}

void Runners::Rest(std::unique_lock<std::mutex>& lock, std::uint64_t* seen, Time* since) {
  const Time now = std::chrono::steady_clock::now();
  if (*seen != summoned_) *since = now;
  *seen = summoned_;
  ++idle_;
  if (is_watched_ || now - *since > kWatch) {
    summons_.wait(lock);
  } else {
    is_watched_ = true;
    summons_.wait_for(lock, kGlance);
    is_watched_ = false;
  }
  --idle_;
}

}  // namespace kdl::runtime
