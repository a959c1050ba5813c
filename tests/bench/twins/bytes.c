// The twins of bytes.kdl.
#include <stdint.h>
#include <stdlib.h>

static int Min(int a, int b) { return a < b ? a : b; }
static int Max(int a, int b) { return a > b ? a : b; }

static const int kBinomial[5] = {1, 4, 6, 4, 1};
static const int kSmooth[3] = {1, 2, 1};
static const int kSlope[3] = {-1, 0, 1};

void gauss(int64_t P, int64_t Q, int64_t M, int64_t N, const uint8_t* restrict x,
           uint8_t* restrict y) {
  (void)P;
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      int sum = 0;
      for (int r = 0; r < 5; ++r) {
        for (int s = 0; s < 5; ++s) sum += kBinomial[r] * kBinomial[s] * x[(i + r) * Q + j + s];
      }
      y[i * N + j] = (uint8_t)((sum + 128) / 256);
    }
  }
}

static uint8_t GaussAt(int64_t M, int64_t N, const uint8_t* x, int64_t i, int64_t j) {
  int sum = 0;
  for (int r = 0; r < 5; ++r) {
    for (int s = 0; s < 5; ++s) {
      int64_t row = i + r - 2;
      int64_t column = j + s - 2;
      int exists = row >= 0 && row < M && column >= 0 && column < N;
      sum += kBinomial[r] * kBinomial[s] * (exists ? x[row * N + column] : 0);
    }
  }
  return (uint8_t)((sum + 128) / 256);
}

void gauss_else(int64_t M, int64_t N, const uint8_t* restrict x, uint8_t* restrict y) {
  for (int64_t i = 0; i < M; ++i) {
    int64_t left = i < 2 || i >= M - 2 || N < 5 ? N : 2;
    int64_t right = left == N ? N : N - 2;
    for (int64_t j = 0; j < left; ++j) y[i * N + j] = GaussAt(M, N, x, i, j);
    for (int64_t j = left; j < right; ++j) {
      int sum = 0;
      for (int r = 0; r < 5; ++r) {
        for (int s = 0; s < 5; ++s)
          sum += kBinomial[r] * kBinomial[s] * x[(i + r - 2) * N + j + s - 2];
      }
      y[i * N + j] = (uint8_t)((sum + 128) / 256);
    }
    for (int64_t j = right; j < N; ++j) y[i * N + j] = GaussAt(M, N, x, i, j);
  }
}

void sobel_sum(int64_t P, int64_t Q, int64_t M, int64_t N, const uint8_t* restrict x,
               uint8_t* restrict y) {
  (void)P;
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      int gx = 0;
      int gy = 0;
      for (int r = 0; r < 3; ++r) {
        for (int s = 0; s < 3; ++s) {
          gx += kSmooth[r] * kSlope[s] * x[(i + r) * Q + j + s];
          gy += kSlope[r] * kSmooth[s] * x[(i + r) * Q + j + s];
        }
      }
      y[i * N + j] = (uint8_t)Min(abs(gx) + abs(gy), 255);
    }
  }
}

void box(int64_t P, int64_t Q, int64_t M, int64_t N, const uint8_t* restrict x,
         uint8_t* restrict y) {
  (void)P;
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      unsigned sum = 0;
      for (int r = 0; r < 3; ++r) {
        for (int s = 0; s < 3; ++s) sum += x[(i + r) * Q + j + s];
      }
      y[i * N + j] = (uint8_t)(sum / 9);
    }
  }
}

void dilate(int64_t P, int64_t Q, int64_t M, int64_t N, const uint8_t* restrict x,
            uint8_t* restrict y) {
  (void)P;
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      uint8_t most = 0;
      for (int r = 0; r < 3; ++r) {
        for (int s = 0; s < 3; ++s) {
          uint8_t element = x[(i + r) * Q + j + s];
          most = element > most ? element : most;
        }
      }
      y[i * N + j] = most;
    }
  }
}

static int MedianOf3(int a, int b, int c) { return Max(Min(a, b), Min(Max(a, b), c)); }

void median(int64_t P, int64_t Q, int64_t M, int64_t N, const uint8_t* restrict x,
            uint8_t* restrict y) {
  (void)P;
  for (int64_t i = 0; i < M; ++i) {
    const uint8_t* p = x + i * Q;
    const uint8_t* q = p + Q;
    const uint8_t* t = q + Q;
    for (int64_t j = 0; j < N; ++j) {
      int a = p[j], b = q[j], c = t[j];
      int d = p[j + 1], e = q[j + 1], f = t[j + 1];
      int g = p[j + 2], h = q[j + 2], k = t[j + 2];
      int least = Max(Max(Min(Min(a, b), c), Min(Min(d, e), f)), Min(Min(g, h), k));
      int middle = MedianOf3(MedianOf3(a, b, c), MedianOf3(d, e, f), MedianOf3(g, h, k));
      int most = Min(Min(Max(Max(a, b), c), Max(Max(d, e), f)), Max(Max(g, h), k));
      y[i * N + j] = (uint8_t)MedianOf3(least, middle, most);
    }
  }
}

void average(int64_t N, const uint8_t* restrict a, const uint8_t* restrict b, uint8_t* restrict y) {
  for (int64_t i = 0; i < N; ++i) y[i] = (uint8_t)((a[i] + b[i] + 1) / 2);
}

void blend(int64_t N, const uint8_t* restrict a, const uint8_t* restrict b,
           const uint8_t* restrict alpha, uint8_t* restrict y) {
  for (int64_t i = 0; i < N; ++i)
    y[i] = (uint8_t)((a[i] * alpha[i] + b[i] * (255 - alpha[i]) + 127) / 255);
}

void threshold(int64_t N, const uint8_t* restrict x, uint8_t* restrict y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] > 100 ? 255 : 0;
}

void brighten(int64_t N, const uint8_t* restrict x, uint8_t* restrict y) {
  for (int64_t i = 0; i < N; ++i) y[i] = (uint8_t)Min(x[i] + 40, 255);
}

void mix16(int64_t N, const int16_t* restrict a, const int16_t* restrict b, int16_t* restrict y) {
  for (int64_t i = 0; i < N; ++i) y[i] = (int16_t)Max(Min(a[i] + b[i], 32767), -32768);
}

void gain16(int64_t N, const int16_t* restrict a, const int16_t* restrict gain,
            int16_t* restrict y) {
  for (int64_t i = 0; i < N; ++i)
    y[i] = (int16_t)Max(Min((a[i] * gain[i] + 16384) >> 15, 32767), -32768);
}

void fir16(int64_t P, int64_t N, const int16_t* restrict h, const int16_t* restrict x,
           int16_t* restrict y) {
  (void)P;
  for (int64_t i = 0; i < N; ++i) {
    int sum = 0;
    for (int k = 0; k < 8; ++k) sum = (int)((unsigned)sum + (unsigned)(h[k] * x[i + k]));
    y[i] = (int16_t)(sum >> 15);
  }
}

void sad(int64_t M, int64_t N, const uint8_t* restrict a, const uint8_t* restrict b,
         int32_t* restrict y) {
  for (int64_t i = 0; i < M; ++i) {
    int32_t sum = 0;
    for (int64_t j = 0; j < N; ++j) sum += abs(a[i * N + j] - b[i * N + j]);
    y[i] = sum;
  }
}

void dot_sum(int64_t M, int64_t N, const uint8_t* restrict a, const uint8_t* restrict b,
             int32_t* restrict y) {
  for (int64_t i = 0; i < M; ++i) {
    int32_t sum = 0;
    for (int64_t j = 0; j < N; ++j) sum += a[i * N + j] * b[i * N + j];
    y[i] = sum;
  }
}

void dot_dot(int64_t M, int64_t N, const uint8_t* restrict a, const uint8_t* restrict b,
             uint32_t* restrict y) {
  for (int64_t i = 0; i < M; ++i) {
    uint32_t sum = 0;
    for (int64_t j = 0; j < N; ++j) sum += (uint32_t)(a[i * N + j] * b[i * N + j]);
    y[i] = sum;
  }
}

void sum_bytes(int64_t M, int64_t N, const uint8_t* restrict a, uint32_t* restrict y) {
  for (int64_t i = 0; i < M; ++i) {
    uint32_t sum = 0;
    for (int64_t j = 0; j < N; ++j) sum += a[i * N + j];
    y[i] = sum;
  }
}
