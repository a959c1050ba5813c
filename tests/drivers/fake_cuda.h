// A CUDA driver library that needs no GPU. It uses host memory and interprets the kernels' PTX
// (ptx_machine.h). Misuse (a dead handle, a range beyond its memory, a thread without a context) ends the
// process. A stream's work only runs when a caller waits for the stream, or for an event after the work. The
// environment variable FAKE_CUDA_DROP=N removes barrier number N from the PTX. If FAKE_CUDA_DROPPED=TEXT is
// also set, the instruction that contains the N-th TEXT is removed instead. FAKE_CUDA_CALLS=FILE appends the
// list of fake_cuda_calls to a file.
#pragma once

#include <cstddef>

extern "C" {

// Makes the next call of a driver function, such as `cuMemAlloc_v2`, return this status.
void fake_cuda_fail(const char* function, int status);

// Returns the number of live allocations, streams, events, modules and contexts.
std::size_t fake_cuda_live();

// Sets whether devices that are opened from now on have stream-ordered memory pools. By default, they do.
void fake_cuda_pools(bool has);

// Returns the names of the driver's functions that were called since the last call of this function, one per
// line. The name of a launch is followed by the number of its blocks. The result is valid until the next call.
const char* fake_cuda_calls();

// Returns the number of copies so far to or from unpinned host memory.
std::size_t fake_cuda_unpinned_copies();
}
