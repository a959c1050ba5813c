/* Sizes that are made of others, for generated C: `kdl_size_mul(2, N)` for a dimension `2 * N`. What has no value in 64
 * bits, or is divided by 0, is below 0: no tensor has it, and what takes it says so. */
#pragma once

#include <stdint.h>

static inline int64_t kdl_size_add(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MIN : sum;
}

static inline int64_t kdl_size_sub(int64_t a, int64_t b) {
  int64_t difference;
  return __builtin_sub_overflow(a, b, &difference) ? INT64_MIN : difference;
}

static inline int64_t kdl_size_mul(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MIN : product;
}

/* Rounded down. */
static inline int64_t kdl_size_div(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return INT64_MIN;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

static inline int64_t kdl_size_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return b == 0 ? INT64_MIN : 0;
  return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}

static inline int64_t kdl_size_min(int64_t a, int64_t b) { return a < b ? a : b; }
