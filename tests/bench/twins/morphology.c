// The twins of morphology.kdl.
#include <stdint.h>

static int64_t Clamp(int64_t i, int64_t size) { return i < 0 ? 0 : i < size ? i : size - 1; }
static uint8_t Min(uint8_t a, uint8_t b) { return a < b ? a : b; }
static uint8_t Max(uint8_t a, uint8_t b) { return a > b ? a : b; }
static uint8_t Middle(uint8_t a, uint8_t b, uint8_t c) { return Max(Min(a, b), Min(Max(a, b), c)); }

// The median of three by three elements. `left` and `right` are the columns next to j.
static uint8_t MedianAt(const uint8_t* up, const uint8_t* row, const uint8_t* down, int64_t left,
                        int64_t j, int64_t right) {
  uint8_t low0 = Min(Min(up[left], row[left]), down[left]);
  uint8_t low1 = Min(Min(up[j], row[j]), down[j]);
  uint8_t low2 = Min(Min(up[right], row[right]), down[right]);
  uint8_t high0 = Max(Max(up[left], row[left]), down[left]);
  uint8_t high1 = Max(Max(up[j], row[j]), down[j]);
  uint8_t high2 = Max(Max(up[right], row[right]), down[right]);
  uint8_t middle0 = Middle(up[left], row[left], down[left]);
  uint8_t middle1 = Middle(up[j], row[j], down[j]);
  uint8_t middle2 = Middle(up[right], row[right], down[right]);
  return Middle(Max(Max(low0, low1), low2), Middle(middle0, middle1, middle2),
                Min(Min(high0, high1), high2));
}

void median(int64_t H, int64_t W, const uint8_t* restrict x, uint8_t* restrict y) {
#pragma omp parallel for if (H > 100)
  for (int64_t i = 0; i < H; ++i) {
    const uint8_t* up = x + Clamp(i - 1, H) * W;
    const uint8_t* row = x + i * W;
    const uint8_t* down = x + Clamp(i + 1, H) * W;
    y[i * W] = MedianAt(up, row, down, 0, 0, Clamp(1, W));
    for (int64_t j = 1; j < W - 1; ++j) y[i * W + j] = MedianAt(up, row, down, j - 1, j, j + 1);
    if (W > 1) y[i * W + W - 1] = MedianAt(up, row, down, W - 2, W - 1, W - 1);
  }
}

static uint8_t ErodeAt(int64_t H, int64_t W, const uint8_t* x, int64_t i, int64_t j) {
  uint8_t least = 255;
  for (int64_t r = i - 1; r <= i + 1; ++r) {
    for (int64_t s = j - 1; s <= j + 1; ++s) {
      if (r >= 0 && r < H && s >= 0 && s < W) least = Min(least, x[r * W + s]);
    }
  }
  return least;
}

void erode(int64_t H, int64_t W, const uint8_t* restrict x, uint8_t* restrict y) {
#pragma omp parallel for if (H > 100)
  for (int64_t i = 0; i < H; ++i) {
    if (i == 0 || i == H - 1 || W < 3) {
      for (int64_t j = 0; j < W; ++j) y[i * W + j] = ErodeAt(H, W, x, i, j);
      continue;
    }
    y[i * W] = ErodeAt(H, W, x, i, 0);
    for (int64_t j = 1; j < W - 1; ++j) {
      uint8_t least = 255;
      for (int64_t r = -1; r <= 1; ++r) {
        for (int64_t s = -1; s <= 1; ++s) least = Min(least, x[(i + r) * W + j + s]);
      }
      y[i * W + j] = least;
    }
    y[i * W + W - 1] = ErodeAt(H, W, x, i, W - 1);
  }
}

static uint8_t OutlineAt(int64_t H, int64_t W, const uint8_t* x, int64_t i, int64_t j) {
  uint8_t high = x[i * W + j], low = high;
  if (i > 0) high = Max(high, x[(i - 1) * W + j]), low = Min(low, x[(i - 1) * W + j]);
  if (i < H - 1) high = Max(high, x[(i + 1) * W + j]), low = Min(low, x[(i + 1) * W + j]);
  if (j > 0) high = Max(high, x[i * W + j - 1]), low = Min(low, x[i * W + j - 1]);
  if (j < W - 1) high = Max(high, x[i * W + j + 1]), low = Min(low, x[i * W + j + 1]);
  return high - low;
}

void outline(int64_t H, int64_t W, const uint8_t* restrict x, uint8_t* restrict y) {
#pragma omp parallel for if (H > 100)
  for (int64_t i = 0; i < H; ++i) {
    if (i == 0 || i == H - 1 || W < 3) {
      for (int64_t j = 0; j < W; ++j) y[i * W + j] = OutlineAt(H, W, x, i, j);
      continue;
    }
    const uint8_t* up = x + (i - 1) * W;
    const uint8_t* row = x + i * W;
    const uint8_t* down = x + (i + 1) * W;
    y[i * W] = OutlineAt(H, W, x, i, 0);
    for (int64_t j = 1; j < W - 1; ++j) {
      uint8_t high = Max(Max(Max(Max(row[j], up[j]), down[j]), row[j - 1]), row[j + 1]);
      uint8_t low = Min(Min(Min(Min(row[j], up[j]), down[j]), row[j - 1]), row[j + 1]);
      y[i * W + j] = high - low;
    }
    y[i * W + W - 1] = OutlineAt(H, W, x, i, W - 1);
  }
}
