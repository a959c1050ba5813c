// The twins of steps.kdl. They store all results of the first step.
#include <stdint.h>
#include <stdlib.h>

/// Returns memory for the first step. Further calls get the same memory, so they do not pay for fresh pages.
static void* Scratch(int64_t bytes) {
  static void* memory;
  static int64_t size;
  if (bytes > size) {
    free(memory);
    memory = malloc((size_t)bytes);
    size = bytes;
  }
  return memory;
}

void blur_twice(int64_t M, int64_t N, const float* restrict w, const float* restrict x,
                float* restrict y) {
  float* restrict t = Scratch(M * N * 4);
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      if (j < 2 || j >= N - 2) {
        float sum = 0;
        for (int64_t s = 0; s < 5; ++s)
          sum += w[s] * (j + s - 2 >= 0 && j + s - 2 < N ? x[i * N + j + s - 2] : 0);
        t[i * N + j] = sum;
      }
    }
    for (int64_t j = 2; j < N - 2; ++j) {
      const float* at = x + i * N + j;
      t[i * N + j] = w[0] * at[-2] + w[1] * at[-1] + w[2] * at[0] + w[3] * at[1] + w[4] * at[2];
    }
  }
  for (int64_t i = 0; i < M; ++i) {
    if (i < 2 || i >= M - 2) {
      for (int64_t j = 0; j < N; ++j) {
        float sum = 0;
        for (int64_t r = 0; r < 5; ++r)
          sum += w[r] * (i + r - 2 >= 0 && i + r - 2 < M ? t[(i + r - 2) * N + j] : 0);
        y[i * N + j] = sum;
      }
      continue;
    }
    for (int64_t j = 0; j < N; ++j) {
      const float* at = t + i * N + j;
      y[i * N + j] =
          w[0] * at[-2 * N] + w[1] * at[-N] + w[2] * at[0] + w[3] * at[N] + w[4] * at[2 * N];
    }
  }
}

static int Byte(int64_t M, int64_t N, const uint8_t* x, int64_t i, int64_t j) {
  return i >= 0 && i < M && j >= 0 && j < N ? x[i * N + j] : 0;
}

void gauss_u8(int64_t M, int64_t N, const uint8_t* restrict x, uint8_t* restrict y) {
  uint16_t* restrict t = Scratch(M * N * 2);
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      if (j < 2 || j >= N - 2)
        t[i * N + j] = (uint16_t)(Byte(M, N, x, i, j - 2) + 4 * Byte(M, N, x, i, j - 1) +
                                  6 * Byte(M, N, x, i, j) + 4 * Byte(M, N, x, i, j + 1) +
                                  Byte(M, N, x, i, j + 2));
    }
    for (int64_t j = 2; j < N - 2; ++j) {
      const uint8_t* at = x + i * N + j;
      t[i * N + j] = (uint16_t)(at[-2] + 4 * at[-1] + 6 * at[0] + 4 * at[1] + at[2]);
    }
  }
  for (int64_t i = 0; i < M; ++i) {
    const uint16_t* row = t + i * N;
    if (i < 2 || i >= M - 2) {
      static const int kTaps[5] = {1, 4, 6, 4, 1};
      for (int64_t j = 0; j < N; ++j) {
        int sum = 128;
        for (int64_t r = 0; r < 5; ++r)
          sum += i + r - 2 >= 0 && i + r - 2 < M ? kTaps[r] * row[(r - 2) * N + j] : 0;
        y[i * N + j] = (uint8_t)(sum / 256);
      }
      continue;
    }
    for (int64_t j = 0; j < N; ++j)
      y[i * N + j] = (uint8_t)((row[j - 2 * N] + 4 * row[j - N] + 6 * row[j] + 4 * row[j + N] +
                                row[j + 2 * N] + 128) /
                               256);
  }
}

static void Jacobi(int64_t M, int64_t N, const float* restrict x, float* restrict y) {
  for (int64_t i = 0; i < M; ++i) {
    const float* up = x + (i - 1) * N;
    const float* row = x + i * N;
    const float* down = x + (i + 1) * N;
    if (i == 0 || i == M - 1) {
      for (int64_t j = 0; j < N; ++j)
        y[i * N + j] = 0.25f * ((i > 0 ? up[j] : 0) + (i < M - 1 ? down[j] : 0) +
                                (j > 0 ? row[j - 1] : 0) + (j < N - 1 ? row[j + 1] : 0));
      continue;
    }
    y[i * N] = 0.25f * (up[0] + down[0] + 0 + (N > 1 ? row[1] : 0));
    for (int64_t j = 1; j < N - 1; ++j)
      y[i * N + j] = 0.25f * (up[j] + down[j] + row[j - 1] + row[j + 1]);
    if (N > 1) y[i * N + N - 1] = 0.25f * (up[N - 1] + down[N - 1] + row[N - 2] + 0);
  }
}

void jacobi_twice(int64_t M, int64_t N, const float* restrict x, float* restrict y) {
  float* t = Scratch(M * N * 4);
  Jacobi(M, N, x, t);
  Jacobi(M, N, t, y);
}
