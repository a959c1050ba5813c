// What this machine can do now: arithmetic, and memory at a given size.
#pragma once

#include <memory>
#include <vector>

#include "array.h"
#include "case.h"
#include "tools/measure/ceilings.h"

namespace bench {

// Work of OpenMP's threads, as the peers' is.
kdl::measure::Share SharedBy(int threads);

// One line of what the machine can do, over arrays that no cache holds.
void PrintCeilings(int threads, kdl::measure::TrialLimits limits);

}  // namespace bench
