#include "processors.h"

#include <cblas.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>

namespace bench {

namespace {

cpu_set_t AtStart() {
  static const cpu_set_t start = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  return start;
}

bool SetWhereUnset(const char* name, const char* value) {
  if (std::getenv(name) != nullptr) return false;
  setenv(name, value, 1);
  return true;
}

}  // namespace

void SetEnvironment(char** arguments) {
  // Threads that wait actively after a side's turn would take processors from the next one: a fraction of a
  // millisecond is enough to find them awake within a trial.
  bool changed = SetWhereUnset("GOMP_SPINCOUNT", "20000");
  changed |= SetWhereUnset("OPENBLAS_THREAD_TIMEOUT", "20");  // 2^20 cycles
#if defined(__x86_64__)
  // Left alone, OpenBLAS takes a generic kernel on processors that it does not know.
  if (__builtin_cpu_supports("avx512f")) changed |= SetWhereUnset("OPENBLAS_CORETYPE", "SkylakeX");
#endif
  if (changed) execv("/proc/self/exe", arguments);
}

int ProcessorCount() {
  const cpu_set_t set = AtStart();
  return CPU_COUNT(&set);
}

void UseThreads(int threads) {
  const cpu_set_t all = AtStart();
  cpu_set_t used;
  CPU_ZERO(&used);
  for (int cpu = 0, count = 0; cpu < CPU_SETSIZE && count < threads; ++cpu) {
    if (!CPU_ISSET(static_cast<std::size_t>(cpu), &all)) continue;
    CPU_SET(static_cast<std::size_t>(cpu), &used);
    ++count;
  }
  sched_setaffinity(0, sizeof used, &used);
  omp_set_num_threads(threads);
  openblas_set_num_threads(threads);
}

}  // namespace bench
