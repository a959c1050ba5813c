// How many threads everybody may use.
#pragma once

namespace bench {

// Sets what OpenMP and OpenBLAS read when they are loaded, and starts the program again where that changed
// anything. What the user has set stays.
void SetEnvironment(char** arguments);

int ProcessorCount();

// From here on the process has `threads` processors, the first of those that it began with, and so many
// threads in oneDNN, OpenMP and OpenBLAS.
void UseThreads(int threads);

}  // namespace bench
