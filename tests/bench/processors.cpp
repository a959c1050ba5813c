#include "processors.h"

#include <cblas.h>
#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
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

// Returns `count` of the processors that the process had at its start, from number `first` on.
cpu_set_t Processors(int first, int count) {
  const cpu_set_t all = AtStart();
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  for (std::size_t cpu = 0, number = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all)) continue;
    const int place = static_cast<int>(number++) - first;
    if (place >= 0 && place < count) CPU_SET(cpu, &chosen);
  }
  return chosen;
}

bool SetWhereUnset(const char* name, const char* value) {
  if (std::getenv(name) != nullptr) return false;
  setenv(name, value, 1);
  return true;
}

// Gets priority over other processes if permitted, because other load slows down threads that wait for each
// other.
bool RaisePriority() {
  constexpr int kHighest = -20;
  return getpriority(PRIO_PROCESS, 0) > kHighest && setpriority(PRIO_PROCESS, 0, kHighest) == 0;
}

}  // namespace

void SetEnvironment(char** arguments) {
  bool changed = RaisePriority();
  // Threads that keep spinning after their library's turn would take processors from the next library.
  // Spinning for a fraction of a millisecond is enough to keep them awake within a trial.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr)
    changed |= SetWhereUnset("GOMP_SPINCOUNT", "20000");
  changed |= SetWhereUnset("OPENBLAS_THREAD_TIMEOUT", "20");  // 2^20 cycles
#if defined(__x86_64__)
  // By default, OpenBLAS uses a generic kernel on processors that it does not know.
  if (__builtin_cpu_supports("avx512f")) changed |= SetWhereUnset("OPENBLAS_CORETYPE", "SkylakeX");
#endif
  if (changed) execv("/proc/self/exe", arguments);
}

int ProcessorCount() {
  const cpu_set_t set = AtStart();
  return CPU_COUNT(&set);
}

void UseThreads(int threads) {
  const cpu_set_t used = Processors(0, threads);
  sched_setaffinity(0, sizeof used, &used);
  omp_set_num_threads(threads);
  openblas_set_num_threads(threads);
}

void PinThreads(int threads) {
#pragma omp parallel num_threads(threads)
  {
    const cpu_set_t own = Processors(omp_get_thread_num(), 1);
    sched_setaffinity(0, sizeof own, &own);
  }
}

}  // namespace bench
