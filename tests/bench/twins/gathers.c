// The twins of gathers.kdl.
#include <stdint.h>
#include <string.h>

void gather_rows(int64_t K, int64_t D, int64_t N, const float* restrict x,
                 const int32_t* restrict idx, float* restrict y) {
  (void)K;
  for (int64_t i = 0; i < N; ++i) memcpy(y + i * D, x + idx[i] * D, D * sizeof(float));
}

void gather_blocks(int64_t K, int64_t D, int64_t N, const float* restrict x,
                   const int32_t* restrict idx, float* restrict y) {
  gather_rows(K, D, N, x, idx, y);
}

void gather_elements(int64_t K, int64_t N, const float* restrict x, const int32_t* restrict idx,
                     float* restrict y) {
  (void)K;
  for (int64_t i = 0; i < N; ++i) y[i] = x[idx[i]];
}

void look_up(int64_t N, const uint8_t* restrict table, const uint8_t* restrict x,
             uint8_t* restrict y) {
  for (int64_t i = 0; i < N; ++i) y[i] = table[x[i]];
}
