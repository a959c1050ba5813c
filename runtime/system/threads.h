// Threads and processor affinity.
#pragma once

#include <pthread.h>

#include <vector>

namespace kdl::runtime {

// A thread. Starting it may fail, without an exception.
using Thread = pthread_t;
bool StartThread(void* (*main)(void*), void* argument, Thread* thread);
void JoinThread(Thread thread);

// Returns the processors that this process may run on; at least one.
std::vector<int> AllowedProcessors();
// Suggests a processor for a thread.
void KeepTo(Thread thread, int processor);

// Keeps the calling thread on a processor during its lifetime; a negative number means any processor.
class OnProcessor {
 public:
  explicit OnProcessor(int processor);
  ~OnProcessor();
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;

 private:
  bool is_moved_ = false;
  cpu_set_t before_;
};

}  // namespace kdl::runtime
