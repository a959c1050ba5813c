// Compiled once for each processor level. KDL_LEVEL is the suffix of the level's table in plain_loops.h.
#include "plain_loops.h"

#include <cmath>

#define KDL_JOIN2(a, b) a##b
#define KDL_JOIN(a, b) KDL_JOIN2(a, b)

namespace bench {

namespace {

constexpr int kSize = 32;

void Cholesky(const float* __restrict a, float* __restrict u, std::int64_t count) {
  for (std::int64_t b = 0; b < count; ++b, a += kSize * kSize, u += kSize * kSize) {
    for (int i = 0; i < kSize; ++i) {
      for (int j = i; j < kSize; ++j) u[i * kSize + j] = a[i * kSize + j];
    }
    for (int k = 0; k < kSize; ++k) {
      const float diagonal = std::sqrt(u[k * kSize + k]);
      for (int j = k; j < kSize; ++j) u[k * kSize + j] /= diagonal;
      for (int i = k + 1; i < kSize; ++i) {
        for (int j = i; j < kSize; ++j) u[i * kSize + j] -= u[k * kSize + i] * u[k * kSize + j];
      }
    }
  }
}

void CholeskyElements(const float* __restrict a, float* __restrict l, std::int64_t count) {
  for (std::int64_t b = 0; b < count; ++b, a += kSize * kSize, l += kSize * kSize) {
    for (int j = 0; j < kSize; ++j) {
      for (int i = j; i < kSize; ++i) {
        float rest = a[i * kSize + j];
        for (int k = 0; k < j; ++k) rest -= l[i * kSize + k] * l[j * kSize + k];
        l[i * kSize + j] = i == j ? std::sqrt(rest) : rest / l[j * kSize + j];
      }
    }
  }
}

}  // namespace

extern const PlainLoops KDL_JOIN(kPlain, KDL_LEVEL) = {Cholesky, CholeskyElements};

}  // namespace bench
