// What one writes in plain C++ for one thread, compiled once for each processor level.
#pragma once

#include <cstdint>

namespace bench {

struct PlainLoops {
  // Of each of `count` symmetric matrices of 32 x 32 the factors of Cholesky: U with U^T U = A, row by row, and L with
  // L L^T = A, element by element. The other triangle stays.
  void (*cholesky)(const float* a, float* u, std::int64_t count);
  void (*cholesky_elements)(const float* a, float* l, std::int64_t count);
};

// Of the highest level that the processor has.
const PlainLoops& Plain();

extern const PlainLoops kPlainBase;
extern const PlainLoops kPlainV3;
extern const PlainLoops kPlainV4;

}  // namespace bench
