#pragma once

#include <cstdint>

#include "driver/run/host_tensor.h"

namespace kdl::driver {

/// 64 random bits: the same on every machine, whatever is drawn before them.
///
/// With mix being the finalizer of SplitMix64 (x += 0x9e3779b97f4a7c15, then two xor-shift-multiply rounds and a last
/// xor-shift) they are mix(mix(seed) + n).
uint64_t DrawBits(uint64_t seed, uint64_t n);

/// Element n of the random tensor of this seed, as `random` has it: with x the bits drawn for it,
///   floats             k * 2^(1 - p) - 1 with k the p highest bits of x, p binary digits of the type: exact, in [-1, 1)
///   signed integers    -100 to 100:  x mod 201 - 100
///   unsigned integers  0 to 100:     x mod 101
///   bool               the highest bit
uint64_t DrawElement(Scalar scalar, uint64_t seed, uint64_t n);

/// Fills the whole tensor as `random` does; its bytes have their size already.
void Draw(HostTensor& tensor, uint64_t seed);

/// Integers from low to high in the order of a type: u64 counts from -2^63, so that all of it fits.
struct IntegerRange {
  int64_t low = 0;
  int64_t high = 0;
};
IntegerRange AllIntegers(Scalar scalar);
/// Those of a range whose distance from 0 is at most this, or from the end of the range that is nearest to 0.
IntegerRange IntegersNear(Scalar scalar, IntegerRange range, int64_t distance);
inline constexpr int64_t kSmallInteger = 100;  ///< the largest integer of `random`

/// The sum, or the end of the 64 bits that is nearest to it.
int64_t Plus(int64_t a, int64_t b);

/// A number's place in the order of its type, and the number at a place.
int64_t OrderedInteger(Scalar scalar, uint64_t bits);
uint64_t IntegerBits(Scalar scalar, int64_t ordered);

/// Element n of an input that is drawn to find faults: one in four is small, one in four an end of the range, or a power of
/// two or a neighbor of it, the others are anything in the range. Gives its place.
int64_t DrawInteger(Scalar scalar, IntegerRange range, uint64_t seed, uint64_t n);

/// Fills an argument that nobody gives: integers are any of their type, all else is as `random` has it.
void DrawArgument(HostTensor& tensor, uint64_t seed);

}  // namespace kdl::driver
