#include "support/sampler.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace kdl {

namespace {

constexpr size_t kMostSamples = 1 << 16;
std::array<uintptr_t, kMostSamples> samples;
std::atomic<size_t> sample_count = 0;
struct sigaction action_before;

/// Returns the address of the instruction that a signal has interrupted.
uintptr_t InterruptedAt(const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<uintptr_t>(context.uc_mcontext.pc);
#else
  return 0;
#endif
}

void TakeSample(int, siginfo_t*, void* context) {
  size_t number = sample_count.fetch_add(1, std::memory_order_relaxed);
  if (number < kMostSamples)
    samples[number] = InterruptedAt(*static_cast<const ucontext_t*>(context));
}

void SetTimer(int64_t microseconds) {
  itimerval timer{};
  timer.it_interval.tv_usec = microseconds;
  timer.it_value = timer.it_interval;
  setitimer(ITIMER_PROF, &timer, nullptr);
}

}  // namespace

Sampler::Sampler(int64_t samples_per_second) : runs_(true) {
  sample_count = 0;
  struct sigaction action{};
  action.sa_sigaction = TakeSample;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGPROF, &action, &action_before);
  SetTimer(1'000'000 / samples_per_second);
}

Sampler::~Sampler() {
  if (runs_) Stop();
}

std::vector<uintptr_t> Sampler::Stop() {
  runs_ = false;
  SetTimer(0);
  sigaction(SIGPROF, &action_before, nullptr);
  size_t count = std::min(sample_count.load(), kMostSamples);
  return {samples.begin(), samples.begin() + static_cast<ptrdiff_t>(count)};
}

std::optional<LoadedFile> LoadedFileAt(uintptr_t address) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(address), &info) == 0 || !info.dli_fname)
    return std::nullopt;
  return LoadedFile{info.dli_fname, reinterpret_cast<uintptr_t>(info.dli_fbase)};
}

}  // namespace kdl
