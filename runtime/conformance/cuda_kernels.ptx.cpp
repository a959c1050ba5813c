// The suite's kernels for a GPU: clang makes PTX of this file.
#define KERNEL(NAME, NUMBERS, ...)                                                             \
  extern "C" __attribute__((nvptx_kernel)) void NAME(Numbers<NUMBERS> numbers, char* memory,   \
                                                     char* shared, long* record, long* prints, \
                                                     __VA_ARGS__)
#define BEGIN                                        \
  if (__nvvm_read_ptx_sreg_tid_x() != 0) return;     \
  const long block = __nvvm_read_ptx_sreg_ctaid_x(); \
  const long* const launch = numbers.at

template <int count>
struct Numbers {
  long at[count];
};

#include "cuda_kernels.inc"
