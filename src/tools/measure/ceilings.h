// Measures the current limits of this machine: arithmetic throughput, and memory bandwidth for data
// of a given size.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tools/measure/ceiling_loops.h"
#include "tools/measure/trials.h"

namespace kdl::measure {

// Returns the fastest loops that this processor supports.
const CeilingLoops& Loops();

// Distributes work to threads in equal shares by calling part(first, count) on each thread. Shares
// begin at multiples of `grain`. If the work is a single grain, the calling thread does all of it.
using Share =
    std::function<void(std::int64_t count, std::int64_t grain,
                       const std::function<void(std::int64_t first, std::int64_t count)>& part)>;

// The minimum number of bytes that a kernel must move.
struct Traffic {
  double read = 0;
  double written = 0;
  double changed = 0;  // bytes that are read and written in place
  double all() const { return read + written + 2 * changed; }
};

// Returns two pieces of code to measure. Each call of the first does ArithmeticSlots(threads) f32
// multiply-adds. Each call of the second does the same and also ArithmeticDivisions(threads)
// divisions. `threads` is the number of threads that `share` uses.
std::vector<Side> ArithmeticSides(int threads, const Share& share);
double ArithmeticSlots(int threads);
double ArithmeticDivisions(int threads);

// Returns pieces of code that only move the given numbers of bytes. Equal amounts of reads and
// writes become a copy, and the rest becomes reads or writes. Each piece uses a different method:
// plain loops, prefetches, several streams, or non-temporal stores.
std::vector<Side> StreamSides(const Traffic& bytes, const Share& share);

}  // namespace kdl::measure
