// The twins of red_black.kdl.
#include <stdint.h>

void half_sweep(int64_t M, int64_t N, int64_t colour, float h, const float* restrict f,
                float* restrict u) {
#pragma omp parallel for if (M > 100)
  for (int64_t i = 1; i < M - 1; ++i) {
    for (int64_t j = 1 + (i + 1 + colour) % 2; j < N - 1; j += 2)
      u[i * N + j] = 0.25f * (u[(i - 1) * N + j] + u[(i + 1) * N + j] + u[i * N + j - 1] +
                              u[i * N + j + 1] - h * h * f[i * N + j]);
  }
}
