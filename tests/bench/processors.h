// How many threads everybody may use.
#pragma once

namespace bench {

// Sets what OpenMP and OpenBLAS read when they are loaded, and the highest priority where that is allowed;
// starts the program again where anything changed. What the user has set stays.
void SetEnvironment(char** arguments);

int ProcessorCount();

// From here on the process has `threads` processors, the first of those that it began with, and so many
// threads in oneDNN, OpenMP and OpenBLAS.
void UseThreads(int threads);

// Puts this thread on the first of them and OpenMP's others on the next ones; only after our device has started
// its threads, which do the same. Otherwise two that wait for each other can meet on one processor and stay.
void PinThreads(int threads);

}  // namespace bench
