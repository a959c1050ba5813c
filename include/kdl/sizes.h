/* Arithmetic on sizes for generated C: `kdl_size_mul(2, N)` for a dimension `2 * N`. Overflow of 64 bits,
 * division by 0, and arithmetic on KDL_NO_SIZE all result in KDL_NO_SIZE. KDL_NO_SIZE is negative, so no
 * tensor can have this size, and every use of it is reported. */
#pragma once

#include <stdint.h>

#define KDL_NO_SIZE INT64_MIN

static inline int kdl_have_sizes(int64_t a, int64_t b) {
  return a != KDL_NO_SIZE && b != KDL_NO_SIZE;
}

static inline int64_t kdl_size_add(int64_t a, int64_t b) {
  int64_t sum;
  return kdl_have_sizes(a, b) && !__builtin_add_overflow(a, b, &sum) ? sum : KDL_NO_SIZE;
}

static inline int64_t kdl_size_sub(int64_t a, int64_t b) {
  int64_t difference;
  return kdl_have_sizes(a, b) && !__builtin_sub_overflow(a, b, &difference) ? difference
                                                                            : KDL_NO_SIZE;
}

static inline int64_t kdl_size_mul(int64_t a, int64_t b) {
  int64_t product;
  return kdl_have_sizes(a, b) && !__builtin_mul_overflow(a, b, &product) ? product : KDL_NO_SIZE;
}

/* Rounds down. */
static inline int64_t kdl_size_div(int64_t a, int64_t b) {
  if (!kdl_have_sizes(a, b) || b == 0) return KDL_NO_SIZE;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

static inline int64_t kdl_size_mod(int64_t a, int64_t b) {
  if (!kdl_have_sizes(a, b) || b == 0) return KDL_NO_SIZE;
  return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}

static inline int64_t kdl_size_min(int64_t a, int64_t b) { return a < b ? a : b; }
