/* Calls programs over ranks (ranks_failures.kdl) that fail in one process of an MPI application in C. They must fail in all of them with
 * the same error, and the next call must have the results of one process. */
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kdl/use_mpi.h"
#include "ranks_failures.h"

enum {
  kCount = 3,
  kRows = 64,
  kOwned = (kRows + kCount - 1) / kCount,
  kSteps = 8,
  kTable = 10,
  kColumns = 5,
  kMostText = 1000,
  kLongRows = 6, /* MPI sends long rows only when they are received */
  kLong = 40000,
  kMostElements = kLongRows * kLong
};
enum { kWarm = 20, kRepeated = 150, kMostGrowth = 1000 /* KiB */ }; /* of two calls each */

static int rank;
static bool is_right = true;
static kdl_context* shared;
static kdl_context* alone;

static void check(const char* what, bool holds) {
  if (!holds) printf("process %d: %s\n", rank, what);
  is_right = is_right && holds;
}

static kdl_array wrap(kdl_context* context, void* data, uint8_t element, int32_t dims,
                      const int64_t* sizes, const int64_t* strides) {
  kdl_device* host = NULL;
  kdl_array array;
  memset(&array, 0, sizeof array);
  kdl_error* error = kdl_select_device(context, "host", &host);
  if (error == NULL)
    error = kdl_array_wrap(host, data, element, dims, sizes, strides, "data", &array);
  if (error != NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  return array;
}

/* All processes must have the same error, which contains the text. */
static void check_fails(const char* text, kdl_error* error) {
  char mine[kMostText] = "";
  char first[kMostText];
  snprintf(mine, sizeof mine, "%d %s", (int)kdl_error_code(error),
           error == NULL ? "no error" : kdl_error_message(error));
  kdl_error_free(error);
  memcpy(first, mine, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  const bool same = strcmp(mine, first) == 0 && strstr(mine, text) != NULL;
  if (!same) printf("'%s' is expected, and process 0 has '%s'\n", text, first);
  check(mine, same);
}

/* Rows of process p begin with `start[p]`, so the trap comes after kTable - start[p] steps. */
static kdl_error* follow(kdl_context* context, const int* start, int64_t steps, int32_t* y) {
  int32_t x[kRows];
  int32_t table[kTable];
  const int64_t sizes[] = {kRows};
  const int64_t table_sizes[] = {kTable};
  for (int i = 0; i < kTable; ++i) table[i] = i + 1;
  for (int i = 0; i < kRows; ++i) x[i] = start[i / kOwned];
  kdl_array arrays[] = {wrap(context, x, KDL_I32, 1, sizes, NULL),
                        wrap(context, table, KDL_I32, 1, table_sizes, NULL),
                        wrap(context, y, KDL_I32, 1, sizes, NULL)};
  kdl_error* error =
      ranks_failures_follow(context, &arrays[0], &arrays[1], steps, &arrays[2], NULL);
  for (int i = 0; i < 3; ++i) kdl_array_free(&arrays[i]);
  return error;
}

enum fault { kNone, kNull, kDevice, kOverlap, kType, kTransposed, kTrap };

static kdl_error* smooth(kdl_context* context, int64_t rows, int64_t columns, enum fault fault,
                         double* y) {
  static double x[kMostElements];
  static double bias[kMostElements];
  static const int64_t kTransposedStrides[] = {1, 2};
  const int64_t sizes[] = {rows, columns};
  int32_t at[kRows];
  for (int64_t i = 0; i < rows * columns; ++i) x[i] = (double)(i * i % 31) / 8.0;
  for (int64_t i = 0; i < rows * columns; ++i) bias[i] = (double)(i % 13) / 16.0;
  for (int64_t i = 0; i < rows; ++i) at[i] = fault == kTrap ? 1000 : (int32_t)i;
  kdl_array arrays[] = {wrap(context, x, KDL_F64, 2, sizes, NULL),
                        wrap(context, bias, fault == kType ? KDL_F32 : KDL_F64, 2, sizes,
                             fault == kTransposed ? kTransposedStrides : NULL),
                        wrap(context, at, KDL_I32, 1, sizes, NULL),
                        wrap(context, fault == kOverlap ? x : y, KDL_F64, 2, sizes, NULL)};
  const ranks_failures_devices devices = {fault == kDevice ? "hots" : "host"};
  kdl_error* error = ranks_failures_smooth(context, &arrays[0], fault == kNull ? NULL : &arrays[1],
                                           &arrays[2], kSteps, &arrays[3], &devices);
  for (int i = 0; i < 4; ++i) kdl_array_free(&arrays[i]);
  return error;
}

/* A call without failure. */
static void check_call(void) {
  static double results[2][kRows * kColumns];
  kdl_error* error = smooth(shared, kRows, kColumns, kNone, results[0]);
  if (error == NULL) error = smooth(alone, kRows, kColumns, kNone, results[1]);
  check(error == NULL ? "other bits" : kdl_error_message(error),
        error == NULL && memcmp(results[0], results[1], sizeof results[0]) == 0);
  kdl_error_free(error);
}

static void check_traps(void) {
  static const struct {
    int start[kCount];
    const char* text;
  } kCases[] = {{{9, 8, 7}, "index 10 is outside"}, {{7, 8, 9}, "index 10 is outside"},
                {{0, 9, 0}, "(in process 1)"},      {{0, 0, 3}, "(in process 2)"},
                {{9, 0, 0}, "(in process 0)"},      {{9, 9, 9}, "index 10 is outside"}};
  int32_t y[kRows];
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    check_fails(kCases[i].text, follow(shared, kCases[i].start, kSteps, y));
    check_call();
  }
}

static void check_arguments(void) {
  static const struct {
    enum fault fault;
    const char* in_one;
    const char* in_all;
  } kCases[] = {{kNull, "'bias' is NULL (in process ", "'bias' is NULL"},
                {kDevice, "hots", "hots"},
                {kOverlap, "shares memory", "shares memory"},
                {kType, "the processes call different programs", "here it must be"},
                {kTrap, "index 1000 is outside", "index 1000 is outside"}};
  static double y[kMostElements];
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    for (int process = 0; process < kCount; ++process) {
      check_fails(kCases[i].in_one,
                  smooth(shared, kRows, kColumns, rank == process ? kCases[i].fault : kNone, y));
      check_call();
    }
    check_fails(kCases[i].in_all, smooth(shared, kRows, kColumns, kCases[i].fault, y));
    check_call();
  }
  for (int process = 0; process < kCount; ++process) {
    check_fails("index 1000 is outside",
                smooth(shared, kLongRows, kLong, rank == process ? kTrap : kNone, y));
    check_call();
  }
  /* Process 2 has no row, and launches nothing. */
  check_fails("bias", smooth(shared, 2, kColumns, kTransposed, y));
  check_call();
}

static long resident(void) {
  long all = 0;
  long used = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &all, &used) != 2) used = 0;
  if (file != NULL) fclose(file);
  return used * 4;
}

/* Failing calls keep no memory. */
static void check_memory(void) {
  static const int kStart[] = {9, 8, 0};
  int32_t y[kRows];
  double z[kRows * kColumns];
  long before = 0;
  for (int i = 0; i < kWarm + kRepeated; ++i) {
    if (i == kWarm) before = resident();
    kdl_error_free(follow(shared, kStart, kSteps, y));
    kdl_error_free(smooth(shared, kRows, kColumns, rank == i % kCount ? kType : kNone, z));
  }
  const long growth = resident() - before;
  char text[100];
  snprintf(text, sizeof text, "failing calls keep %ld KiB", growth);
  check(text, growth <= kMostGrowth);
  check_call();
}

/* Of two threads that call at the same time, one gets an error at once. Then the other processes call, too. */
static void* call_from_thread(void* error) {
  static double results[2][kRows * kColumns];
  static int next;
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  double* y = results[next++];
  pthread_mutex_unlock(&mutex);
  *(kdl_error**)error = smooth(shared, kRows, kColumns, kNone, y);
  for (int other = 1; other < kCount && *(kdl_error**)error != NULL; ++other)
    MPI_Send(NULL, 0, MPI_BYTE, other, 0, MPI_COMM_WORLD);
  return NULL;
}

static void check_threads(void) {
  if (rank == 0) {
    pthread_t threads[2];
    kdl_error* errors[2];
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, call_from_thread, &errors[i]);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    const kdl_error* refused = errors[0] == NULL ? errors[1] : errors[0];
    check("two threads call",
          (errors[0] == NULL) != (errors[1] == NULL) &&
              strstr(kdl_error_message(refused), "another thread runs a program") != NULL);
    for (int i = 0; i < 2; ++i) kdl_error_free(errors[i]);
  } else {
    static double y[kRows * kColumns];
    MPI_Status status;
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status);
    kdl_error* error = smooth(shared, kRows, kColumns, kNone, y);
    check("another process calls in two threads", error == NULL);
    kdl_error_free(error);
  }
  check_call();
}

static void check_communicators(void) {
  MPI_Comm own;
  MPI_Comm inter;
  kdl_error* error = kdl_use_mpi(alone, MPI_COMM_NULL);
  check("MPI_COMM_NULL is accepted", strstr(kdl_error_message(error), "MPI_COMM_NULL") != NULL);
  kdl_error_free(error);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &own);
  MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 0, &inter);
  error = kdl_use_mpi(alone, inter);
  check("an inter-communicator is accepted",
        strstr(kdl_error_message(error), "inter-communicator") != NULL);
  kdl_error_free(error);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&own);
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  kdl_error* error = kdl_context_create(&shared);
  if (error == NULL) error = kdl_use_mpi(shared, MPI_COMM_WORLD);
  if (error == NULL) error = kdl_context_register_all(shared, kdl_images_ranks_failures);
  if (error == NULL) error = kdl_context_create(&alone);
  if (error == NULL) error = kdl_context_register_all(alone, kdl_images_ranks_failures);
  if (error != NULL || level != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 1);
  check_communicators();
  check_call();
  check_traps();
  check_arguments();
  check_threads();
  check_memory();
  MPI_Finalize();
  kdl_context_destroy(shared);
  kdl_context_destroy(alone);
  if (is_right) printf("all calls are right\n");
  return is_right ? 0 : 1;
}
