#pragma once

#include <cstdint>

#include "driver/run/host_tensor.h"

namespace kdl::driver {

/// Returns 64 random bits. They depend only on `seed` and `n`, and are the same on every machine.
///
/// They are mix(mix(seed) + n), where mix is the finalizer of SplitMix64: x += 0x9e3779b97f4a7c15,
/// two rounds of xor-shift and multiply, and a final xor-shift.
uint64_t DrawBits(uint64_t seed, uint64_t n);

/// Returns element n of the tensor that `random` generates from this seed. It is computed from 64
/// random bits x:
///   floats             k * 2^(1 - p) - 1, where k is the p highest bits of x and p the precision of the
///                      type in bits; exact, in [-1, 1)
///   signed integers    x mod 201 - 100, that is, -100 to 100
///   unsigned integers  x mod 101, that is, 0 to 100
///   bool               the highest bit
uint64_t DrawElement(Scalar scalar, uint64_t seed, uint64_t n);

/// Fills a tensor like `random`. `tensor.bytes` must have its final size.
void Draw(HostTensor& tensor, uint64_t seed);

/// A range of integers, both ends included, in the order of a type. For u64 the numbers are shifted
/// by -2^63, so that they fit in an i64.
struct IntegerRange {
  int64_t low = 0;
  int64_t high = 0;
};
IntegerRange AllIntegers(Scalar scalar);
/// Returns the integers of the range whose distance is at most `distance` from 0, or from the end
/// of the range nearest to 0.
IntegerRange IntegersNear(Scalar scalar, IntegerRange range, int64_t distance);
inline constexpr int64_t kSmallInteger = 100;  ///< the largest integer of `random`

/// Returns the sum, saturated to 64 bits.
int64_t Plus(int64_t a, int64_t b);

/// Convert between an integer's bits and its position in the order of its type, as used by
/// IntegerRange.
int64_t OrderedInteger(Scalar scalar, uint64_t bits);
uint64_t IntegerBits(Scalar scalar, int64_t ordered);

/// Returns the position of element n of an input for finding faults. A quarter of the elements are
/// small. Another quarter are an end of the range, or a power of two or a neighbour of it. The
/// others are anything in the range.
int64_t DrawInteger(Scalar scalar, IntegerRange range, uint64_t seed, uint64_t n);

/// Fills an argument that was not given: integers are any of their type, everything else is like
/// `random`.
void DrawArgument(HostTensor& tensor, uint64_t seed);

}  // namespace kdl::driver
