// The twins of grids.kdl.
#include <stdint.h>

void double_u8(int64_t P, int64_t Q, int64_t H, int64_t W, const uint8_t* restrict x,
               uint8_t* restrict y) {
  (void)P;
  for (int64_t i = 0; i < H; ++i) {
    for (int64_t j = 0; j < W; ++j) y[i * W + j] = x[i / 2 * Q + j / 2];
  }
}

void double_f32(int64_t P, int64_t Q, int64_t H, int64_t W, const float* restrict x,
                float* restrict y) {
  (void)P;
  for (int64_t i = 0; i < H; ++i) {
    for (int64_t j = 0; j < W; ++j) y[i * W + j] = x[i / 2 * Q + j / 2];
  }
}

void double_smooth(int64_t P, int64_t Q, int64_t H, int64_t W, const uint8_t* restrict x,
                   uint8_t* restrict y) {
  (void)P;
  for (int64_t i = 0; i < H; ++i) {
    const uint8_t* row = x + i / 2 * Q;
    for (int64_t q = 0; q < Q; ++q) {
      int before = row[q > 0 ? q - 1 : 0];
      int after = row[q + 1 < Q ? q + 1 : Q - 1];
      y[i * W + 2 * q] = (uint8_t)((3 * row[q] + before + 2) >> 2);
      y[i * W + 2 * q + 1] = (uint8_t)((3 * row[q] + after + 2) >> 2);
    }
  }
}

void checker(int64_t H, int64_t W, const uint8_t* restrict x, uint8_t* restrict y) {
  for (int64_t i = 0; i < H; ++i) {
    for (int64_t j = 0; j < W; ++j)
      y[i * W + j] = (uint8_t)((i + j) % 2 == 0 ? x[i * W + j] : 255 - x[i * W + j]);
  }
}

void mosaic(int64_t H, int64_t W, const uint8_t* restrict r, const uint8_t* restrict g,
            const uint8_t* restrict b, uint8_t* restrict y) {
  for (int64_t i = 0; i < H; ++i) {
    const uint8_t* other = i % 2 == 0 ? r : b;
    for (int64_t j = 0; j < W; ++j)
      y[i * W + j] = (i + j) % 2 == 1 ? g[i * W + j] : other[i * W + j];
  }
}

void greens(int64_t H, int64_t W, const uint8_t* restrict x, uint8_t* restrict y) {
  for (int64_t i = 0; i < H; ++i) {
    for (int64_t j = 0; j < W; ++j) {
      const uint8_t* at = x + i * W + j;
      if (i > 0 && i + 1 < H && j > 0 && j + 1 < W) {
        int around = at[-W] + at[W] + at[-1] + at[1];
        y[i * W + j] = (uint8_t)((i + j) % 2 == 1 ? *at : (around + 2) >> 2);
      } else {
        int around = (i > 0 ? at[-W] : 0) + (i + 1 < H ? at[W] : 0) + (j > 0 ? at[-1] : 0) +
                     (j + 1 < W ? at[1] : 0);
        y[i * W + j] = (uint8_t)((i + j) % 2 == 1 ? *at : (around + 2) >> 2);
      }
    }
  }
}

void framed(int64_t H, int64_t W, const float* restrict x, float* restrict y) {
  for (int64_t i = 0; i < H; ++i) {
    for (int64_t j = 0; j < W; ++j)
      y[i * W + j] = i == 0 || i == H - 1 || j == 0 || j == W - 1 ? 0.0f : 2.0f * x[i * W + j];
  }
}

void differences(int64_t H, int64_t W, const float* restrict x, float* restrict y) {
  for (int64_t i = 0; i < H; ++i) {
    for (int64_t j = 0; j + 1 < W; ++j) y[i * W + j] = x[i * W + j + 1] - x[i * W + j];
    y[i * W + W - 1] = 0.0f;
  }
}

void causal(int64_t H, int64_t W, const float* restrict x, float* restrict y) {
  for (int64_t i = 0; i < H; ++i) {
    for (int64_t j = 0; j < W; ++j) y[i * W + j] = j <= i ? 0.125f * x[i * W + j] : -1.0e9f;
  }
}
