// Limits the number of threads of all sides.
#pragma once

namespace bench {

// Sets environment variables that OpenMP and OpenBLAS read when they are loaded, and the highest priority if
// permitted. If anything changed, restarts the program. Values that the user has set are kept.
void SetEnvironment(char** arguments);

int ProcessorCount();

// Restricts the process to the first `threads` of its initial processors, and to as many threads in oneDNN,
// OpenMP and OpenBLAS.
void UseThreads(int threads);

// Pins this thread to the first of them and OpenMP's others to the next ones. Call it only after our device
// has started its threads, which do the same. Otherwise two threads that wait for each other might stay on
// the same processor.
void PinThreads(int threads);

}  // namespace bench
