// Macros that declare kernels when clang compiles them to PTX. A core is a block of one thread.
#pragma once

template <int count>
struct Numbers {
  long at[count];
};

#define KERNEL(NAME, NUMBERS, ...)                                                             \
  extern "C" __attribute__((nvptx_kernel)) void NAME(Numbers<NUMBERS> numbers, char* memory,   \
                                                     char* shared, long* record, long* prints, \
                                                     __VA_ARGS__)
#define BEGIN                                        \
  const long block = __nvvm_read_ptx_sreg_ctaid_x(); \
  const long* const launch = numbers.at
