// The twins of colour.kdl.
#include <stdint.h>

static uint8_t Byte(int value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

void yuv_to_rgb(int64_t H, int64_t W, int64_t P, int64_t Q, const uint8_t* restrict luma,
                const uint8_t* restrict u, const uint8_t* restrict v, uint8_t* restrict rgb) {
  (void)P;
#pragma omp parallel for if (H > 100)
  for (int64_t i = 0; i < H; ++i) {
    for (int64_t j = 0; j < W; ++j) {
      int light = 298 * (luma[i * W + j] - 16) + 128;
      int blue = u[i / 2 * Q + j / 2] - 128;
      int red = v[i / 2 * Q + j / 2] - 128;
      uint8_t* y = rgb + 3 * (i * W + j);
      y[0] = Byte((light + 409 * red) >> 8);
      y[1] = Byte((light - 100 * blue - 208 * red) >> 8);
      y[2] = Byte((light + 516 * blue) >> 8);
    }
  }
}

void yuv_to_planes(int64_t H, int64_t W, int64_t P, int64_t Q, const uint8_t* restrict luma,
                   const uint8_t* restrict u, const uint8_t* restrict v, uint8_t* restrict red,
                   uint8_t* restrict green, uint8_t* restrict blue) {
  (void)P;
#pragma omp parallel for if (H > 100)
  for (int64_t i = 0; i < H; ++i) {
    for (int64_t j = 0; j < W; ++j) {
      int light = 298 * (luma[i * W + j] - 16) + 128;
      int b = u[i / 2 * Q + j / 2] - 128;
      int r = v[i / 2 * Q + j / 2] - 128;
      red[i * W + j] = Byte((light + 409 * r) >> 8);
      green[i * W + j] = Byte((light - 100 * b - 208 * r) >> 8);
      blue[i * W + j] = Byte((light + 516 * b) >> 8);
    }
  }
}

void over(int64_t N, const uint8_t* restrict layer, const uint8_t* restrict below,
          uint8_t* restrict y) {
#pragma omp parallel for if (N > 10000)
  for (int64_t n = 0; n < N; ++n) {
    for (int c = 0; c < 4; ++c) {
      int t = (255 - layer[4 * n + 3]) * below[4 * n + c] + 128;
      int sum = layer[4 * n + c] + ((t + (t >> 8)) >> 8);
      y[4 * n + c] = (uint8_t)(sum < 255 ? sum : 255);
    }
  }
}
