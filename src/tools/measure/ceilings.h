// Measures what this machine can do at present: arithmetic, and memory traffic of a given size.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tools/measure/ceiling_loops.h"
#include "tools/measure/trials.h"

namespace kdl::measure {

// Returns the best loops for this processor.
const CeilingLoops& Loops();

// Distributes work to threads in equal shares by calling part(first, count) on each of them. Shares
// begin at multiples of `grain`. If there is only one grain, the calling thread does it alone.
using Share =
    std::function<void(std::int64_t count, std::int64_t grain,
                       const std::function<void(std::int64_t first, std::int64_t count)>& part)>;

// The minimum number of bytes that must be moved.
struct Traffic {
  double read = 0;
  double written = 0;
  double changed = 0;  // read and written in place
  double all() const { return read + written + 2 * changed; }
};

// Returns two sides. A call of the first one does ArithmeticSlots(threads) f32 multiply-adds. The
// second one does the same and ArithmeticDivisions(threads) divisions. `threads` is the number of
// threads of `share`.
std::vector<Side> ArithmeticSides(int threads, const Share& share);
double ArithmeticSlots(int threads);
double ArithmeticDivisions(int threads);

// Returns sides that only move these bytes. Equal amounts of reads and writes are done as a copy,
// the rest as reads or writes. The sides differ in their method: plain, with prefetches, in several
// streams, and with non-temporal stores.
std::vector<Side> StreamSides(const Traffic& bytes, const Share& share);

}  // namespace kdl::measure
