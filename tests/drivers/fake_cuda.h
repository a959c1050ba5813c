// A library of CUDA's driver without a GPU: memory is the host's, and kernels' PTX is interpreted (ptx_machine.h). What is
// used wrongly (a handle that is gone, a range that leaves its memory, a thread without a context) ends the process. Work of
// a stream is done when the stream, or an event after it, is waited for, and not before. FAKE_CUDA_DROP=N in the environment takes a barrier out of
// the PTX, with FAKE_CUDA_DROPPED=TEXT instead an instruction of this text.
#pragma once

#include <cstddef>

extern "C" {

// The next call of the function, `cuMemAlloc_v2`, gives this status.
void fake_cuda_fail(const char* function, int status);

// How many pieces of memory, streams, events, modules and contexts there are.
std::size_t fake_cuda_live();

// Whether devices have pools of memory that streams take from, as they have at first; of those that are opened from now on.
void fake_cuda_pools(bool has);

// How many copies there have been to or from memory of the host's that the device does not reach by itself.
std::size_t fake_cuda_unpinned_copies();
}
