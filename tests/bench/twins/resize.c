// The twins of resize.kdl.
#include <stdint.h>

static int64_t Clamp(int64_t i, int64_t size) { return i < 0 ? 0 : i < size ? i : size - 1; }

void bilinear(int64_t H, int64_t W, int64_t M, int64_t N, const uint8_t* restrict x,
              const int32_t* restrict row, const int32_t* restrict row_weight,
              const int32_t* restrict column, const int32_t* restrict column_weight,
              uint8_t* restrict y) {
#pragma omp parallel for if (M > 100)
  for (int64_t i = 0; i < M; ++i) {
    const uint8_t* top = x + Clamp(row[i], H) * W;
    const uint8_t* bottom = x + Clamp(Clamp(row[i], H) + 1, H) * W;
    int v = row_weight[i];
    for (int64_t j = 0; j < N; ++j) {
      int64_t left = Clamp(column[j], W);
      int64_t right = Clamp(left + 1, W);
      int u = column_weight[j];
      int high = (2048 - u) * top[left] + u * top[right];
      int low = (2048 - u) * bottom[left] + u * bottom[right];
      y[i * N + j] = (uint8_t)(((2048 - v) * high + v * low + (1 << 21)) >> 22);
    }
  }
}

void cubic_across(int64_t H, int64_t W, int64_t N, const float* restrict x,
                  const int32_t* restrict at, const float* restrict weight, float* restrict y) {
#pragma omp parallel for if (H > 100)
  for (int64_t i = 0; i < H; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < 4; ++k) sum += weight[4 * j + k] * x[i * W + Clamp(at[j] + k, W)];
      y[i * N + j] = sum;
    }
  }
}

void cubic_down(int64_t H, int64_t W, int64_t M, const float* restrict x,
                const int32_t* restrict at, const float* restrict weight, float* restrict y) {
#pragma omp parallel for if (M > 100)
  for (int64_t i = 0; i < M; ++i) {
    const float* a = x + Clamp(at[i], H) * W;
    const float* b = x + Clamp(at[i] + 1, H) * W;
    const float* c = x + Clamp(at[i] + 2, H) * W;
    const float* d = x + Clamp(at[i] + 3, H) * W;
    const float* w = weight + 4 * i;
    for (int64_t j = 0; j < W; ++j)
      y[i * W + j] = w[0] * a[j] + w[1] * b[j] + w[2] * c[j] + w[3] * d[j];
  }
}
