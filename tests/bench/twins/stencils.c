// The twins of stencils.kdl.
#include <stdint.h>
#include <stdlib.h>

void jacobi(int64_t M, int64_t N, const float* restrict x, float* restrict y) {
#pragma omp parallel for if (M > 100)
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

void jacobi_inside(int64_t P, int64_t Q, int64_t M, int64_t N, const float* restrict x,
                   float* restrict y) {
#pragma omp parallel for if (M > 100)
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j)
      y[i * N + j] = 0.25f * (x[i * Q + j + 1] + x[(i + 2) * Q + j + 1] + x[(i + 1) * Q + j] +
                              x[(i + 1) * Q + j + 2]);
  }
}

static int64_t Clamp(int64_t i, int64_t size) { return i < 0 ? 0 : i < size ? i : size - 1; }

void jacobi_clamped(int64_t M, int64_t N, const float* restrict x, float* restrict y) {
#pragma omp parallel for if (M > 100)
  for (int64_t i = 0; i < M; ++i) {
    const float* up = x + Clamp(i - 1, M) * N;
    const float* row = x + i * N;
    const float* down = x + Clamp(i + 1, M) * N;
    y[i * N] = 0.25f * (up[0] + down[0] + row[0] + row[Clamp(1, N)]);
    for (int64_t j = 1; j < N - 1; ++j)
      y[i * N + j] = 0.25f * (up[j] + down[j] + row[j - 1] + row[j + 1]);
    if (N > 1) y[i * N + N - 1] = 0.25f * (up[N - 1] + down[N - 1] + row[N - 2] + row[N - 1]);
  }
}

static float Blurred(int64_t M, int64_t N, const float* x, int64_t i, int64_t j) {
  float sum = 0;
  for (int64_t r = i - 1; r <= i + 1; ++r) {
    for (int64_t s = j - 1; s <= j + 1; ++s) {
      float element = r >= 0 && r < M && s >= 0 && s < N ? x[r * N + s] : 0;
      sum = r == i - 1 && s == j - 1 ? element : sum + element;
    }
  }
  return sum * 0.111111111f;
}

void blur(int64_t M, int64_t N, const float* restrict x, float* restrict y) {
#pragma omp parallel for if (M > 100)
  for (int64_t i = 0; i < M; ++i) {
    if (i == 0 || i == M - 1 || N < 3) {
      for (int64_t j = 0; j < N; ++j) y[i * N + j] = Blurred(M, N, x, i, j);
      continue;
    }
    const float* up = x + (i - 1) * N;
    const float* row = x + i * N;
    const float* down = x + (i + 1) * N;
    y[i * N] = Blurred(M, N, x, i, 0);
    for (int64_t j = 1; j < N - 1; ++j)
      y[i * N + j] = (up[j - 1] + up[j] + up[j + 1] + row[j - 1] + row[j] + row[j + 1] +
                      down[j - 1] + down[j] + down[j + 1]) *
                     0.111111111f;
    y[i * N + N - 1] = Blurred(M, N, x, i, N - 1);
  }
}

static int At(int64_t M, int64_t N, const uint8_t* x, int64_t i, int64_t j) {
  return i >= 0 && i < M && j >= 0 && j < N ? x[i * N + j] : 0;
}

static uint8_t Magnitude(int gx, int gy) {
  int sum = abs(gx) + abs(gy);
  return (uint8_t)(sum < 255 ? sum : 255);
}

static uint8_t SobelAt(int64_t M, int64_t N, const uint8_t* x, int64_t i, int64_t j) {
  int gx = At(M, N, x, i - 1, j + 1) + 2 * At(M, N, x, i, j + 1) + At(M, N, x, i + 1, j + 1) -
           (At(M, N, x, i - 1, j - 1) + 2 * At(M, N, x, i, j - 1) + At(M, N, x, i + 1, j - 1));
  int gy = At(M, N, x, i + 1, j - 1) + 2 * At(M, N, x, i + 1, j) + At(M, N, x, i + 1, j + 1) -
           (At(M, N, x, i - 1, j - 1) + 2 * At(M, N, x, i - 1, j) + At(M, N, x, i - 1, j + 1));
  return Magnitude(gx, gy);
}

void sobel(int64_t M, int64_t N, const uint8_t* restrict x, uint8_t* restrict y) {
#pragma omp parallel for if (M > 100)
  for (int64_t i = 0; i < M; ++i) {
    if (i == 0 || i == M - 1 || N < 3) {
      for (int64_t j = 0; j < N; ++j) y[i * N + j] = SobelAt(M, N, x, i, j);
      continue;
    }
    const uint8_t* up = x + (i - 1) * N;
    const uint8_t* row = x + i * N;
    const uint8_t* down = x + (i + 1) * N;
    y[i * N] = SobelAt(M, N, x, i, 0);
    for (int64_t j = 1; j < N - 1; ++j) {
      int gx =
          up[j + 1] + 2 * row[j + 1] + down[j + 1] - (up[j - 1] + 2 * row[j - 1] + down[j - 1]);
      int gy = down[j - 1] + 2 * down[j] + down[j + 1] - (up[j - 1] + 2 * up[j] + up[j + 1]);
      y[i * N + j] = Magnitude(gx, gy);
    }
    y[i * N + N - 1] = SobelAt(M, N, x, i, N - 1);
  }
}
