// Measures the current limits of this machine: arithmetic throughput, and memory bandwidth for arrays of a
// given size.
#pragma once

#include <memory>
#include <vector>

#include "array.h"
#include "case.h"
#include "tools/measure/ceilings.h"

namespace bench {

// Distributes work over OpenMP's threads, as the peers do.
kdl::measure::Share SharedBy(int threads);

// Prints one line with the machine's limits, for arrays that fit in no cache.
void PrintCeilings(int threads, kdl::measure::TrialLimits limits);

}  // namespace bench
