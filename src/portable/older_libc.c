/* Functions that the libraries of this system expect in libc, but that older ones lack. */
#include <malloc.h>
#include <stdint.h>
#include <sys/random.h>

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
