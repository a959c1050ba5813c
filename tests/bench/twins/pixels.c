// The twins of pixels.kdl.
#include <stdint.h>

void over_u8(int64_t N, const uint8_t* restrict x, const uint8_t* restrict z, uint8_t* restrict y) {
  for (int64_t n = 0; n < N; ++n) {
    int rest = 255 - x[4 * n + 3];
    for (int64_t c = 0; c < 4; ++c)
      y[4 * n + c] = (uint8_t)(x[4 * n + c] + (z[4 * n + c] * rest >> 8));
  }
}

void over_f32(int64_t N, const float* restrict x, const float* restrict z, float* restrict y) {
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t c = 0; c < 4; ++c) y[4 * n + c] = x[4 * n + c] + z[4 * n + c] * (1 - x[4 * n + 3]);
  }
}

void gain(int64_t N, const float* restrict x, const float* restrict g, float* restrict y) {
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t c = 0; c < 2; ++c) y[2 * n + c] = x[2 * n + c] * g[c];
  }
}

void pan(int64_t N, const float* restrict x, const float* restrict g, float* restrict y) {
  for (int64_t n = 0; n < N; ++n) {
    y[2 * n] = x[n] * g[0];
    y[2 * n + 1] = x[n] * g[1];
  }
}

void complex_mul(int64_t N, const float* restrict a, const float* restrict b, float* restrict y) {
  for (int64_t n = 0; n < N; ++n) {
    y[2 * n] = a[2 * n] * b[2 * n] - a[2 * n + 1] * b[2 * n + 1];
    y[2 * n + 1] = a[2 * n] * b[2 * n + 1] + a[2 * n + 1] * b[2 * n];
  }
}

void gray(int64_t M, int64_t N, const uint8_t* restrict x, uint8_t* restrict y) {
  for (int64_t n = 0; n < M * N; ++n)
    y[n] = (uint8_t)((77 * x[3 * n] + 150 * x[3 * n + 1] + 29 * x[3 * n + 2]) >> 8);
}

static float Larger(float a, float b) { return a > b ? a : b; }

void max_pool(int64_t P, int64_t Q, int64_t M, int64_t N, const float* restrict x,
              float* restrict y) {
  for (int64_t i = 0; i < M; ++i) {
    const float* a = x + 2 * i * Q;
    const float* b = a + Q;
    for (int64_t j = 0; j < N; ++j)
      y[i * N + j] = Larger(Larger(a[2 * j], a[2 * j + 1]), Larger(b[2 * j], b[2 * j + 1]));
  }
}

void average_pool(int64_t P, int64_t Q, int64_t M, int64_t N, const uint8_t* restrict x,
                  uint8_t* restrict y) {
  for (int64_t i = 0; i < M; ++i) {
    const uint8_t* a = x + 2 * i * Q;
    const uint8_t* b = a + Q;
    for (int64_t j = 0; j < N; ++j)
      y[i * N + j] = (uint8_t)((a[2 * j] + a[2 * j + 1] + b[2 * j] + b[2 * j + 1] + 2) >> 2);
  }
}

void downsample(int64_t P, int64_t N, const float* restrict x, float* restrict y) {
  for (int64_t n = 0; n < N; ++n) y[n] = x[2 * n];
}

void mid(int64_t P, int64_t N, const float* restrict x, float* restrict y) {
  for (int64_t n = 0; n < N; ++n) y[n] = 0.5f * (x[2 * n] + x[2 * n + 1]);
}

void gain_rgb(int64_t N, const uint8_t* restrict x, const uint8_t* restrict g,
              uint8_t* restrict y) {
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t c = 0; c < 3; ++c) y[3 * n + c] = (uint8_t)((x[3 * n + c] * g[c]) >> 7);
  }
}

void swap_channels(int64_t N, const uint8_t* restrict x, uint8_t* restrict y) {
  for (int64_t n = 0; n < N; ++n) {
    y[4 * n] = x[4 * n + 2];
    y[4 * n + 1] = x[4 * n + 1];
    y[4 * n + 2] = x[4 * n];
    y[4 * n + 3] = x[4 * n + 3];
  }
}

void luma(int64_t P, int64_t N, const uint8_t* restrict x, uint8_t* restrict y) {
  for (int64_t n = 0; n < N; ++n) y[n] = x[2 * n];
}

void magnitude(int64_t N, const float* restrict a, float* restrict y) {
  for (int64_t n = 0; n < N; ++n) y[n] = a[2 * n] * a[2 * n] + a[2 * n + 1] * a[2 * n + 1];
}
