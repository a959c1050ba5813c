// The twins of scans.kdl.
#include <math.h>
#include <stdint.h>

void cumsum_rows(int64_t R, int64_t C, const float* restrict x, float* restrict y) {
  for (int64_t r = 0; r < R; ++r) {
    float sum = 0;
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = sum += x[r * C + c];
  }
}

void cumsum_long(int64_t R, int64_t C, const float* restrict x, float* restrict y) {
  cumsum_rows(R, C, x, y);
}

void cumsum_i32(int64_t R, int64_t C, const int32_t* restrict x, int32_t* restrict y) {
  for (int64_t r = 0; r < R; ++r) {
    int32_t sum = 0;
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = sum += x[r * C + c];
  }
}

void cummax_rows(int64_t R, int64_t C, const float* restrict x, float* restrict y) {
  for (int64_t r = 0; r < R; ++r) {
    float most = -INFINITY;
    for (int64_t c = 0; c < C; ++c) {
      most = x[r * C + c] > most ? x[r * C + c] : most;
      y[r * C + c] = most;
    }
  }
}

void argmax_rows(int64_t R, int64_t C, const float* restrict x, int64_t* restrict y) {
  for (int64_t r = 0; r < R; ++r) {
    int64_t best = 0;
    for (int64_t c = 1; c < C; ++c)
      if (x[r * C + c] > x[r * C + best]) best = c;
    y[r] = best;
  }
}

void argmin_i32(int64_t R, int64_t C, const int32_t* restrict x, int64_t* restrict y) {
  for (int64_t r = 0; r < R; ++r) {
    int64_t best = 0;
    for (int64_t c = 1; c < C; ++c)
      if (x[r * C + c] < x[r * C + best]) best = c;
    y[r] = best;
  }
}

void biquad(int64_t N, int64_t R, const float* restrict x, float* restrict z, float* restrict y) {
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t r = 0; r < R; ++r) {
      const float v = x[n * R + r];
      const float w = 0.2f * v + z[r];
      z[r] = 0.4f * v - -0.4f * w + z[R + r];
      z[R + r] = 0.2f * v - 0.2f * w;
      y[n * R + r] = w;
    }
  }
}
