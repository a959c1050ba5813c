#include "system/threads.h"

#include <sched.h>

#include <cstddef>

#include "system/float_state.h"

namespace kdl::runtime {

bool StartThread(void* (*main)(void*), void* argument, Thread* thread) {
  const FloatScope floats;  // a thread inherits the floating-point state of its creator
  return pthread_create(thread, nullptr, main, argument) == 0;
}

void JoinThread(Thread thread) { pthread_join(thread, nullptr); }

std::vector<int> AllowedProcessors() {
  std::vector<int> allowed;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) allowed.push_back(cpu);
    }
  }
  if (allowed.empty()) allowed.push_back(0);
  return allowed;
}

int CurrentProcessor() { return sched_getcpu(); }

void KeepTo(Thread thread, int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processor), &set);
  pthread_setaffinity_np(thread, sizeof set, &set);
}

void OnProcessor::Move(int processor) {
  is_moved_ = pthread_getaffinity_np(pthread_self(), sizeof before_, &before_) == 0;
  if (is_moved_) KeepTo(pthread_self(), processor);
}

void OnProcessor::Return() { pthread_setaffinity_np(pthread_self(), sizeof before_, &before_); }

}  // namespace kdl::runtime
