// The twins of edges.kdl.
#include <stdint.h>
#include <stdlib.h>

static int64_t Clamp(int64_t i, int64_t size) { return i < 0 ? 0 : i < size ? i : size - 1; }

static const int kBinomial[5] = {1, 4, 6, 4, 1};

static uint8_t GaussianAt(int64_t H, int64_t W, const uint8_t* x, int64_t i, int64_t j) {
  int sum = 0;
  for (int r = 0; r < 5; ++r) {
    for (int s = 0; s < 5; ++s)
      sum += kBinomial[r] * kBinomial[s] * x[Clamp(i + r - 2, H) * W + Clamp(j + s - 2, W)];
  }
  return (uint8_t)((sum + 128) >> 8);
}

void gaussian(int64_t H, int64_t W, const uint8_t* restrict x, uint8_t* restrict y) {
#pragma omp parallel for if (H > 100)
  for (int64_t i = 0; i < H; ++i) {
    const uint8_t* rows[5];
    for (int r = 0; r < 5; ++r) rows[r] = x + Clamp(i + r - 2, H) * W;
    int64_t left = W < 5 ? W : 2;
    int64_t right = W < 5 ? W : W - 2;
    for (int64_t j = 0; j < left; ++j) y[i * W + j] = GaussianAt(H, W, x, i, j);
    for (int64_t j = left; j < right; ++j) {
      int sum = 0;
      for (int r = 0; r < 5; ++r) {
        for (int s = 0; s < 5; ++s) sum += kBinomial[r] * kBinomial[s] * rows[r][j + s - 2];
      }
      y[i * W + j] = (uint8_t)((sum + 128) >> 8);
    }
    for (int64_t j = right; j < W; ++j) y[i * W + j] = GaussianAt(H, W, x, i, j);
  }
}

static int At(int64_t H, int64_t W, const uint8_t* x, int64_t i, int64_t j) {
  return i >= 0 && i < H && j >= 0 && j < W ? x[i * W + j] : 0;
}

static void SobelAt(int64_t H, int64_t W, const uint8_t* x, int64_t i, int64_t j, int16_t* gx,
                    int16_t* gy) {
  int a = At(H, W, x, i - 1, j - 1), b = At(H, W, x, i - 1, j), c = At(H, W, x, i - 1, j + 1);
  int d = At(H, W, x, i, j - 1), e = At(H, W, x, i, j + 1);
  int f = At(H, W, x, i + 1, j - 1), g = At(H, W, x, i + 1, j), h = At(H, W, x, i + 1, j + 1);
  gx[i * W + j] = (int16_t)((c - a) + 2 * (e - d) + (h - f));
  gy[i * W + j] = (int16_t)((f - a) + 2 * (g - b) + (h - c));
}

void sobel(int64_t H, int64_t W, const uint8_t* restrict x, int16_t* restrict gx,
           int16_t* restrict gy) {
#pragma omp parallel for if (H > 100)
  for (int64_t i = 0; i < H; ++i) {
    if (i == 0 || i == H - 1 || W < 3) {
      for (int64_t j = 0; j < W; ++j) SobelAt(H, W, x, i, j, gx, gy);
      continue;
    }
    const uint8_t* up = x + (i - 1) * W;
    const uint8_t* row = x + i * W;
    const uint8_t* down = x + (i + 1) * W;
    SobelAt(H, W, x, i, 0, gx, gy);
    for (int64_t j = 1; j < W - 1; ++j) {
      gx[i * W + j] = (int16_t)((up[j + 1] - up[j - 1]) + 2 * (row[j + 1] - row[j - 1]) +
                                (down[j + 1] - down[j - 1]));
      gy[i * W + j] =
          (int16_t)((down[j - 1] - up[j - 1]) + 2 * (down[j] - up[j]) + (down[j + 1] - up[j + 1]));
    }
    SobelAt(H, W, x, i, W - 1, gx, gy);
  }
}

static int Magnitude(int64_t H, int64_t W, const int16_t* gx, const int16_t* gy, int64_t i,
                     int64_t j) {
  if (i < 0 || i >= H || j < 0 || j >= W) return 0;
  return abs(gx[i * W + j]) + abs(gy[i * W + j]);
}

static int Inside(int64_t W, const int16_t* gx, const int16_t* gy, int64_t i, int64_t j) {
  return abs(gx[i * W + j]) + abs(gy[i * W + j]);
}

// Returns the element if it is the largest one along the direction of the gradient.
static uint8_t Thin(int gx, int gy, int east, int west, int south, int north, int south_east,
                    int north_west, int south_west, int north_east) {
  int x = abs(gx), z = abs(gy), m = x + z;
  int is_flat = z << 16 <= x * 27146, is_steep = x << 16 < z * 27146, is_rising = (gx ^ gy) < 0;
  int ahead = is_flat ? east : is_steep ? south : is_rising ? south_west : south_east;
  int behind = is_flat ? west : is_steep ? north : is_rising ? north_east : north_west;
  return (uint8_t)(m > behind && m >= ahead ? (m < 255 ? m : 255) : 0);
}

static uint8_t ThinAt(int64_t H, int64_t W, const int16_t* gx, const int16_t* gy, int64_t i,
                      int64_t j) {
  return Thin(gx[i * W + j], gy[i * W + j], Magnitude(H, W, gx, gy, i, j + 1),
              Magnitude(H, W, gx, gy, i, j - 1), Magnitude(H, W, gx, gy, i + 1, j),
              Magnitude(H, W, gx, gy, i - 1, j), Magnitude(H, W, gx, gy, i + 1, j + 1),
              Magnitude(H, W, gx, gy, i - 1, j - 1), Magnitude(H, W, gx, gy, i + 1, j - 1),
              Magnitude(H, W, gx, gy, i - 1, j + 1));
}

void thin(int64_t H, int64_t W, const int16_t* restrict gx, const int16_t* restrict gy,
          uint8_t* restrict y) {
#pragma omp parallel for if (H > 100)
  for (int64_t i = 0; i < H; ++i) {
    if (i == 0 || i == H - 1 || W < 3) {
      for (int64_t j = 0; j < W; ++j) y[i * W + j] = ThinAt(H, W, gx, gy, i, j);
      continue;
    }
    y[i * W] = ThinAt(H, W, gx, gy, i, 0);
    for (int64_t j = 1; j < W - 1; ++j)
      y[i * W + j] = Thin(gx[i * W + j], gy[i * W + j], Inside(W, gx, gy, i, j + 1),
                          Inside(W, gx, gy, i, j - 1), Inside(W, gx, gy, i + 1, j),
                          Inside(W, gx, gy, i - 1, j), Inside(W, gx, gy, i + 1, j + 1),
                          Inside(W, gx, gy, i - 1, j - 1), Inside(W, gx, gy, i + 1, j - 1),
                          Inside(W, gx, gy, i - 1, j + 1));
    y[i * W + W - 1] = ThinAt(H, W, gx, gy, i, W - 1);
  }
}
