// A library of CUDA's driver that drives nothing: memory is the host's, and kernels are functions of the process that says so.
// What is used wrongly (a handle that is gone, a range that leaves its memory, a thread without a context) ends the process.
// Work of a stream is done when the stream is waited for, and not before.
#pragma once

#include <cstddef>

extern "C" {

// Runs a block; `numbers` and `pointers` are the launch's arguments, `pointers` the host's addresses.
typedef void (*fake_cuda_run)(const long* numbers, char* const* pointers, long block);

// A kernel of this name takes so many numbers by value, then so many addresses; one that nobody runs is only checked.
void fake_cuda_kernel(const char* name, std::size_t numbers, std::size_t pointers,
                      fake_cuda_run run);

// The next call of the function, `cuMemAlloc_v2`, gives this status.
void fake_cuda_fail(const char* function, int status);

// How many pieces of memory, streams, modules and contexts there are.
std::size_t fake_cuda_live();
}
