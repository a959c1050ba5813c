#pragma once

#include <cstdint>

#include "driver/run/host_tensor.h"

namespace kdl::driver {

/// Returns 64 random bits: mix(mix(seed) + n), where mix is the finalizer of SplitMix64. It
/// computes x += 0x9e3779b97f4a7c15, then two rounds of xor-shift and multiply, and a final
/// xor-shift.
uint64_t DrawBits(uint64_t seed, uint64_t n);

/// Returns element n of the tensor that `random` generates from this seed. It is computed from 64
/// random bits x:
///   floats             k * 2^(1 - p) - 1, where k is the p highest bits of x and p the precision of the
///                      type in bits; exact, in [-1, 1)
///   signed integers    x mod 201 - 100, that is, -100 to 100
///   unsigned integers  x mod 101, that is, 0 to 100
///   bool               the highest bit
uint64_t DrawElement(Scalar scalar, uint64_t seed, uint64_t n);

/// Fills a tensor with the numbers of `random`. `tensor.bytes` must already have its final size.
void Draw(HostTensor& tensor, uint64_t seed);

/// A range of integers, including both ends, in the order of their type. For u64, the numbers are
/// shifted by -2^63 so that they fit in an i64.
struct IntegerRange {
  int64_t low = 0;
  int64_t high = 0;
};
IntegerRange AllIntegers(Scalar scalar);
/// Returns the integers of the range that are at most `distance` away from 0. If the range does not
/// contain 0, distances are measured from the end nearest to 0.
IntegerRange IntegersNear(Scalar scalar, IntegerRange range, int64_t distance);
inline constexpr int64_t kSmallInteger = 100;  ///< the largest integer that `random` generates

/// Returns the sum, saturated to 64 bits.
int64_t Plus(int64_t a, int64_t b);

/// Convert between the bits of an integer and its position in the order of its type, as
/// IntegerRange uses it.
int64_t OrderedInteger(Scalar scalar, uint64_t bits);
uint64_t IntegerBits(Scalar scalar, int64_t ordered);

/// Returns element n of an input that is meant to reveal faults, in the form that IntegerRange
/// uses. A quarter of the elements are small. Another quarter are ends of the range, powers of two,
/// or neighbours of powers of two. The other half are arbitrary numbers in the range.
int64_t DrawInteger(Scalar scalar, IntegerRange range, uint64_t seed, uint64_t n);

/// Returns element n of an argument that was not given on the command line. Integers are arbitrary values of their type. Other
/// types are as for `random`.
uint64_t DrawArgumentElement(Scalar scalar, uint64_t seed, uint64_t n);

/// Fills an argument that was not given on the command line.
void DrawArgument(HostTensor& tensor, uint64_t seed);

}  // namespace kdl::driver
