// What this machine can do now: arithmetic, and memory at a given size.
#pragma once

#include <memory>
#include <vector>

#include "array.h"
#include "case.h"
#include "ceiling_loops.h"
#include "trials.h"

namespace bench {

// The best loops for this processor.
const CeilingLoops& Loops();

// The first side does ArithmeticSlots(threads) of Work::slots in a call, the second the same and
// ArithmeticDivisions(threads) of Work::divisions beside them.
std::vector<Side> ArithmeticSides(int threads);
double ArithmeticSlots(int threads);
double ArithmeticDivisions(int threads);

// Sides that move the bytes of `work` and do nothing else: the parts that are both read and written as a
// copy, the rest as reads or writes; as they come, and with prefetches and stores past the caches.
std::vector<Side> StreamSides(const Work& work, int threads);

// One line of what the machine can do, over arrays that no cache holds.
void PrintCeilings(int threads, TrialLimits limits);

}  // namespace bench
