// The twins of filters.kdl.
#include <stdint.h>

void fir8(int64_t P, int64_t N, const float* restrict h, const float* restrict x,
          float* restrict y) {
  (void)P;
#pragma omp parallel for if (N > 10000)
  for (int64_t i = 0; i < N; ++i)
    y[i] = h[0] * x[i] + h[1] * x[i + 1] + h[2] * x[i + 2] + h[3] * x[i + 3] + h[4] * x[i + 4] +
           h[5] * x[i + 5] + h[6] * x[i + 6] + h[7] * x[i + 7];
}

void fir8_lets(int64_t P, int64_t N, const float* restrict h, const float* restrict x,
               float* restrict y) {
  (void)P;
  const float h0 = h[0], h1 = h[1], h2 = h[2], h3 = h[3], h4 = h[4], h5 = h[5], h6 = h[6],
              h7 = h[7];
#pragma omp parallel for if (N > 10000)
  for (int64_t i = 0; i < N; ++i)
    y[i] = h0 * x[i] + h1 * x[i + 1] + h2 * x[i + 2] + h3 * x[i + 3] + h4 * x[i + 4] +
           h5 * x[i + 5] + h6 * x[i + 6] + h7 * x[i + 7];
}

void fir8_sum(int64_t P, int64_t N, const float* restrict h, const float* restrict x,
              float* restrict y) {
  (void)P;
#pragma omp parallel for if (N > 10000)
  for (int64_t i = 0; i < N; ++i) {
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += h[k] * x[i + k];
    y[i] = sum;
  }
}

void fir8_dot(int64_t P, int64_t N, const float* restrict h, const float* restrict x,
              float* restrict y) {
  fir8_sum(P, N, h, x, y);
}

void mix(int64_t N, const float* restrict a, const float* restrict b, float* restrict y) {
#pragma omp parallel for if (N > 10000)
  for (int64_t i = 0; i < N; ++i) y[i] = 0.7f * a[i] + 0.3f * b[i];
}
