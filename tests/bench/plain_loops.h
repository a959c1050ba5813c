// Loops as one would write them in plain C++ for one thread, compiled once for each processor level.
#pragma once

#include <cstdint>

namespace bench {

struct PlainLoops {
  // Compute the Cholesky factors of `count` symmetric matrices of 32 x 32: U with U^T U = A, row by row, and
  // L with L L^T = A, element by element. The other triangle of the result is not changed.
  void (*cholesky)(const float* a, float* u, std::int64_t count);
  void (*cholesky_elements)(const float* a, float* l, std::int64_t count);
};

// Returns the table for the highest level that the processor supports.
const PlainLoops& BestPlainLoops();

extern const PlainLoops kPlainBase;
extern const PlainLoops kPlainV3;
extern const PlainLoops kPlainV4;

}  // namespace bench
