// What one writes in plain C++ for one thread, compiled once for each processor level.
#pragma once

#include <cstdint>

namespace bench {

struct PlainLoops {
  // Of each of `count` symmetric matrices of 32 x 32 Cholesky's factor; above its diagonal nothing is written.
  void (*cholesky)(const float* a, float* l, std::int64_t count);
};

// Of the highest level that the processor has.
const PlainLoops& Plain();

extern const PlainLoops kPlainBase;
extern const PlainLoops kPlainV3;
extern const PlainLoops kPlainV4;

}  // namespace bench
