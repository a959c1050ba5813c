// The twins of audio.kdl.
#include <stdint.h>

void fir(int64_t C, int64_t N, const float* restrict taps, const float* restrict before,
         const float* restrict x, float* restrict y) {
#pragma omp parallel for if (C * N > 10000)
  for (int64_t c = 0; c < C; ++c) {
    for (int64_t i = 0; i < N && i < 7; ++i) {
      float sum = 0;
      for (int k = 0; k < 8; ++k)
        sum += taps[k] * (i >= k ? x[c * N + i - k] : before[c * 7 + i - k + 7]);
      y[c * N + i] = sum;
    }
    for (int64_t i = 7; i < N; ++i) {
      float sum = 0;
      for (int k = 0; k < 8; ++k) sum += taps[k] * x[c * N + i - k];
      y[c * N + i] = sum;
    }
  }
}

void biquads(int64_t C, int64_t N, const float* restrict filter, float* restrict state,
             float* restrict x) {
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t c = 0; c < C; ++c) {
      float v = x[n * C + c];
      float y = filter[c] * v + state[c];
      state[c] = filter[C + c] * v - filter[3 * C + c] * y + state[C + c];
      state[C + c] = filter[2 * C + c] * v - filter[4 * C + c] * y;
      x[n * C + c] = y;
    }
  }
}

void biquad_rows(int64_t C, int64_t N, const float* restrict filter, float* restrict state,
                 float* restrict x) {
#pragma omp parallel for if (C * N > 10000)
  for (int64_t c = 0; c < C; ++c) {
    const float* f = filter + 5 * c;
    float s = state[2 * c], t = state[2 * c + 1];
    for (int64_t n = 0; n < N; ++n) {
      float v = x[c * N + n];
      float y = f[0] * v + s;
      s = f[1] * v - f[3] * y + t;
      t = f[2] * v - f[4] * y;
      x[c * N + n] = y;
    }
    state[2 * c] = s;
    state[2 * c + 1] = t;
  }
}

void smooth(int64_t C, int64_t N, float* restrict x) {
#pragma omp parallel for if (C * N > 10000)
  for (int64_t c = 0; c < C; ++c) {
    float* row = x + c * N;
    float before = row[0];
    for (int64_t n = 0; n < N; ++n) {
      float now = row[n];
      row[n] = 0.25f * before + 0.5f * now + 0.25f * row[n + 1 < N ? n + 1 : n];
      before = now;
    }
  }
}

void middle_side(int64_t N, float* restrict x) {
#pragma omp parallel for if (N > 10000)
  for (int64_t n = 0; n < N; ++n) {
    float left = 0.70710678f * x[2 * n], right = 0.70710678f * x[2 * n + 1];
    x[2 * n] = left + right;
    x[2 * n + 1] = left - right;
  }
}
