// What the program of a row needs: data, comparison of results, and times in alternation.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void Check(kdl_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", kdl_error_message(error));
  exit(1);
}

static void* Allocate(int64_t count, size_t bytes) {
  size_t size = (count * bytes + 63) / 64 * 64 + 64;
  void* data = aligned_alloc(64, size);
  memset(data, 0, size);
  return data;
}

static uint32_t Random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

// Floats are in [-1, 1), integers have random bits. Integers of 32 bits and more stay small, so that sums and
// products do not overflow.
#define FILL(data, count, seed)                       \
  do {                                                \
    uint64_t bits = seed;                             \
    for (int64_t n = 0; n < (count); ++n)             \
      (data)[n] = _Generic((data)[0],                 \
          float: Random(&bits) / 1073741824.0 - 1.0,  \
          double: Random(&bits) / 1073741824.0 - 1.0, \
          int32_t: (int32_t)(Random(&bits) % 1000),   \
          int64_t: (int64_t)(Random(&bits) % 1000),   \
          default: Random(&bits));                    \
  } while (0)

// Ascending elements, from `first` to below `end`.
#define RAMP(data, count, first, end) \
  for (int64_t n = 0; n < (count); ++n) (data)[n] = (first) + ((end) - (first)) * n / (count)

// Integers must be equal. Floats may differ as much as another order of a sum changes them.
#define COMPARE(ours, twin, count, name)                                              \
  do {                                                                                \
    for (int64_t n = 0; n < (count); ++n) {                                           \
      double difference = fabs((double)(ours)[n] - (double)(twin)[n]);                \
      double allowed = _Generic((ours)[0], float: 1e-4, double: 1e-11, default: 0.0); \
      if (difference <= allowed * (1 + fabs((double)(twin)[n]))) continue;            \
      fprintf(stderr, "%s differs at element %lld: %.9g, %.9g\n", name, (long long)n, \
              (double)(ours)[n], (double)(twin)[n]);                                  \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)

// With one thread, the time is processor time, which other programs on the machine disturb less.
static clockid_t clock_of_times = CLOCK_MONOTONIC;

static double Now(void) {
  struct timespec now;
  clock_gettime(clock_of_times, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

static double TimeOf(void (*run)(void), int64_t times) {
  double begin = Now();
  for (int64_t n = 0; n < times; ++n) run();
  return (Now() - begin) / times;
}

static int64_t TimesPerTrial(void (*run)(void)) {
  const double trial = 2e6;
  run();
  double once = TimeOf(run, 3);
  return once > trial ? 1 : (int64_t)(trial / once) + 1;
}

// Threads that still wait for more work of the previous function take processors from the next one.
static void LetThreadsSleep(void) { nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL); }

static void Print(const char* name, const double* times, int trials) {
  printf("\"%s\": [", name);
  for (int n = 0; n < trials; ++n) printf("%s%.1f", n == 0 ? "" : ", ", times[n]);
  printf("]");
}

// `refill` gives tensors that are changed in place their first values again.
static void Measure(int threads, int trials, void (*refill)(void), void (*ours)(void),
                    void (*gcc)(void), void (*clang)(void)) {
  void (*const runs[3])(void) = {ours, gcc, clang};
  const char* const names[3] = {"ours", "gcc", "clang"};
  double* times[3];
  int64_t count[3];
  if (threads == 1) clock_of_times = CLOCK_THREAD_CPUTIME_ID;
  for (int r = 0; r < 3; ++r) {
    times[r] = malloc(trials * sizeof(double));
    count[r] = TimesPerTrial(runs[r]);
  }
  for (int n = 0; n < trials; ++n) {
    refill();
    for (int r = 0; r < 3; ++r) {
      if (threads > 1) LetThreadsSleep();
      runs[r]();
      times[r][n] = TimeOf(runs[r], count[r]);
    }
  }
  printf("{");
  for (int r = 0; r < 3; ++r) {
    if (r > 0) printf(", ");
    Print(names[r], times[r], trials);
  }
  printf("}\n");
}
