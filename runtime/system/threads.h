// Threads and processor affinity.
#pragma once

#include <pthread.h>

#include <vector>

namespace kdl::runtime {

// A thread. StartThread returns false on failure instead of throwing.
using Thread = pthread_t;
bool StartThread(void* (*main)(void*), void* argument, Thread* thread);
void JoinThread(Thread thread);
inline Thread CurrentThread() { return pthread_self(); }

// Returns the processors on which this process may run. There is at least one.
std::vector<int> AllowedProcessors();
// Returns the processor on which the calling thread runs at present, or -1 if that is unknown.
int CurrentProcessor();
// Asks the system to run the thread on this processor.
void KeepTo(Thread thread, int processor);

// Keeps the calling thread on a processor during the object's lifetime. A negative number means any
// processor.
class OnProcessor {
 public:
  explicit OnProcessor(int processor) {
    if (processor >= 0) Move(processor);
  }
  ~OnProcessor() {
    if (is_moved_) Return();
  }
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;

 private:
  void Move(int processor);
  void Return();

  bool is_moved_ = false;
  cpu_set_t before_;
};

}  // namespace kdl::runtime
