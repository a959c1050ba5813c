// Limits the number of threads of all compared implementations.
#pragma once

namespace bench {

// Sets environment variables that OpenMP and OpenBLAS read when they are loaded, and the highest priority if
// permitted. If this changes anything, restarts the program. Values that the user has set are kept.
void SetEnvironment(char** arguments);

int ProcessorCount();

// Restricts the process to the first `threads` of its initial processors, and oneDNN, OpenMP and OpenBLAS
// to the same number of threads.
void UseThreads(int threads);

// Pins this thread to the first of these processors, and OpenMP's other threads to the next ones. Must only
// be called after our device has started its threads, which pin themselves in the same way. Otherwise two
// threads that wait for each other might stay on the same processor.
void PinThreads(int threads);

}  // namespace bench
