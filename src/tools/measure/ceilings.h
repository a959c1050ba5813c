// What this machine can do now: arithmetic, and memory at a given size.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tools/measure/ceiling_loops.h"
#include "tools/measure/trials.h"

namespace kdl::measure {

// The best loops for this processor.
const CeilingLoops& Loops();

// Deals work to threads in even shares: calls part(first, count) on each; shares begin at multiples of `grain`; one grain is the
// caller's alone.
using Share =
    std::function<void(std::int64_t count, std::int64_t grain,
                       const std::function<void(std::int64_t first, std::int64_t count)>& part)>;

// The bytes that move at least.
struct Traffic {
  double read = 0;
  double written = 0;
  double changed = 0;  // read and written where they lie
  double all() const { return read + written + 2 * changed; }
};

// The first side does ArithmeticSlots(threads) multiply-adds of f32 in a call, the second the same and
// ArithmeticDivisions(threads) divisions next to them. `threads`: of `share`.
std::vector<Side> ArithmeticSides(int threads, const Share& share);
double ArithmeticSlots(int threads);
double ArithmeticDivisions(int threads);

// Sides that move the bytes and do nothing else: the parts that are both read and written as a copy, the rest
// as reads or writes; as they come, with prefetches, along several parts, and with stores past the caches.
std::vector<Side> StreamSides(const Traffic& bytes, const Share& share);

}  // namespace kdl::measure
