/* Calls the kernels of bound_calls.kdl with bound arguments on the device of the first argument. Counts what
 * calls allocate and lock, and finally runs them where system calls end the process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bound_calls.h"

static long allocations;
static long locks;

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  ++allocations;
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  ++allocations;
  *memory = __libc_memalign(alignment, bytes);
  return 0;
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static int (*lock)(pthread_mutex_t*);
  if (lock == NULL) lock = (int (*)(pthread_mutex_t*))dlsym(RTLD_NEXT, "pthread_mutex_lock");
  ++locks;
  return lock(mutex);
}

static void Need(kdl_error* error) {
  if (error == NULL) return;
  printf("%s\n", kdl_error_message(error));
  exit(1);
}

enum { kSize = 24, kCalls = 1000 };

static float a[kSize * kSize], b[kSize * kSize], c[kSize * kSize];
static int32_t at[kSize];
static int64_t offsets[3] = {0, kSize / 2, kSize};
static bound_calls_scale_bound scale;
static bound_calls_gather_bound gather;
static bound_calls_negate_bound negate;
static bound_calls_products_bound products;
static bound_calls_residual_bound residual;

static kdl_error* Scale(void) { return bound_calls_scale_call(&scale); }
static kdl_error* Gather(void) { return bound_calls_gather_call(&gather); }
static kdl_error* Negate(void) { return bound_calls_negate_call(&negate); }
static kdl_error* Products(void) { return bound_calls_products_call(&products); }
static kdl_error* Residual(void) { return bound_calls_residual_call(&residual); }

static const struct {
  const char* name;
  kdl_error* (*call)(void);
} kCalled[] = {{"scale", Scale},
               {"gather", Gather},
               {"negate", Negate},
               {"products", Products},
               {"residual", Residual}};
enum { kKernels = sizeof kCalled / sizeof kCalled[0] };

/* Shows a trap's message without the folder of the source. */
static void ShowTrap(kdl_error* error) {
  const char* name = strrchr(kdl_error_message(error), '/');
  printf("trap: %s\n", name == NULL ? kdl_error_message(error) : name + 1);
  kdl_error_free(error);
}

/* Whether each call writes what it has to write. */
static void ShowResults(void) {
  for (int turn = 1; turn <= 2; ++turn) {
    for (int n = 0; n < kSize * kSize; ++n) a[n] = (float)(turn * (n % 7));
    for (int n = 0; n < kSize; ++n) at[n] = (n + turn) % kSize;
    Need(Scale());
    printf("scale: %g %g\n", c[1], c[kSize - 1]);
    Need(Gather());
    printf("gather: %g %g\n", c[1], c[kSize - 1]);
  }
  at[3] = kSize;
  ShowTrap(Gather());
  at[3] = 3;
  Need(Gather());
  printf("after the trap: %g\n", c[3]);
  offsets[0] = kSize - 1;
  ShowTrap(Negate());
  offsets[0] = 0;
  Need(Negate());
  printf("after the trap: %g %g\n", c[1], c[kSize - 1]);
}

/* Whether calls that are not bound use their own arguments, although a call keeps what the one before has bound. The
 * kernel needs so much memory that it borrows this memory for each call. */
static void ShowRepeatedCalls(bound_calls_kernels* kernels) {
  static float other[kSize * kSize];
  int right = 0;
  for (int turn = 0; turn < 6; ++turn) {
    a[0] = 0.01f * (float)turn;
    memset(other, 0, sizeof other);
    Need(bound_calls_products(kernels, kSize, kSize, kSize, turn < 3 ? a : b, b, other));
    Need(turn < 3 ? Products() : bound_calls_products(kernels, kSize, kSize, kSize, b, b, c));
    right += memcmp(other, c, sizeof c) == 0;
  }
  printf("calls that repeat the last one: %d of 6 are right\n", right);
}

int main(int argc, char** argv) {
  bound_calls_kernels* kernels = NULL;
  Need(bound_calls_open(NULL, argv[argc - 1], &kernels));
  Need(bound_calls_scale_bind(kernels, kSize, a, 3, c, &scale));
  Need(bound_calls_gather_bind(kernels, kSize, kSize, a, at, c, &gather));
  Need(bound_calls_negate_bind(kernels, kSize, 3, a, offsets, c, &negate));
  Need(bound_calls_products_bind(kernels, kSize, kSize, kSize, a, b, c, &products));
  Need(bound_calls_residual_bind(kernels, kSize, kSize, kSize, a, b, b, c, &residual));
  ShowResults();
  for (int k = 0; k < kKernels; ++k) {
    const long allocated = allocations;
    const long locked = locks;
    for (int n = 0; n < kCalls; ++n) Need(kCalled[k].call());
    printf("%s: %ld allocations, %ld locks\n", kCalled[k].name, allocations - allocated,
           locks - locked);
  }
  const long before = allocations + locks;
  Need(bound_calls_scale(kernels, kSize, a, 3, c));
  Need(bound_calls_products(kernels, kSize, kSize, kSize, a, b, c));
  printf("calls that are not bound: %s\n",
         allocations + locks > before ? "counted" : "not counted");
  ShowRepeatedCalls(kernels);
  bound_calls_scale_unbind(&scale);
  bound_calls_scale_unbind(&scale);
  Need(bound_calls_scale_bind(kernels, kSize, a, 3, c, &scale));
  fflush(stdout);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 2;
  for (int k = 0; k < kKernels; ++k) {
    for (int n = 0; n < kCalls; ++n) {
      if (kCalled[k].call() != NULL) syscall(SYS_exit, 3);
    }
  }
  const char end[] = "no system calls\n";
  syscall(SYS_exit, write(1, end, sizeof end - 1) != sizeof end - 1);
}
