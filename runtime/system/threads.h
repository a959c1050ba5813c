// Threads, and the processors that they run on.
#pragma once

#include <pthread.h>

#include <vector>

namespace kdl::runtime {

// One that may fail to start, without an exception.
using Thread = pthread_t;
bool StartThread(void* (*main)(void*), void* argument, Thread* thread);
void JoinThread(Thread thread);

// The processors that this process may run on; at least one.
std::vector<int> AllowedProcessors();
// A hint.
void KeepTo(Thread thread, int processor);

// Keeps the calling thread to a processor while it lives; less than 0: to none.
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
