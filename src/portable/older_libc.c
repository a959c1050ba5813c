/* Functions that the libraries of this system expect in libc, but that older ones lack. */
#define _GNU_SOURCE
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* The C++ library counts references without atomics while this is not 0. */
HIDDEN char __libc_single_threaded = 0;

HIDDEN uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

/* LLVM prints statistics of libc's allocator, which is not used. */
HIDDEN struct mallinfo2 mallinfo2(void) {
  struct mallinfo2 none = {0};
  return none;
}

/* The child runs another program at once, so it does not matter that libc still has the parent's thread number. */
HIDDEN pid_t _Fork(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

/* The signals of crashes, with libc's descriptions. */
HIDDEN const char* sigdescr_np(int signal) {
  switch (signal) {
    case SIGABRT:
      return "Aborted";
    case SIGBUS:
      return "Bus error";
    case SIGFPE:
      return "Floating point exception";
    case SIGILL:
      return "Illegal instruction";
    case SIGSEGV:
      return "Segmentation fault";
    case SIGSYS:
      return "Bad system call";
    case SIGTRAP:
      return "Trace/breakpoint trap";
    default:
      return NULL;
  }
}
