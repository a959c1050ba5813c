#pragma once

#include <cstdint>

#include "support/scalar.h"

namespace kdl {

// These functions convert between floats of every scalar type and their bit patterns.

double FloatValue(Scalar scalar, uint64_t bits);

/// Returns the bits of `value`, rounded once to nearest even.
uint64_t FloatBits(Scalar scalar, double value);

double LargestValue(Scalar scalar);
/// Returns the least finite number: the smallest one if the type has no sign.
double LeastValue(Scalar scalar);

/// Returns whether `value` rounds to more than the largest finite number of the scalar type. Such a value
/// becomes infinity or, in a type without infinities, is out of range. In a type of powers of two, numbers that are
/// not positive are out of range, too.
bool IsBeyond(Scalar scalar, double value);

/// Returns the bits of infinity or, for a scalar type without infinities, of its largest number. If the type has
/// no sign, the negative infinity is NaN.
uint64_t InfinityBits(Scalar scalar, bool negative);

/// Returns the bits of the quiet NaN with a clear sign bit and an empty payload.
uint64_t CanonicalNan(Scalar scalar);

/// Convert to f64 with rounding to odd. Rounding the result again to 24 bits or fewer gives the same number
/// as rounding `value` to that width directly.
double F64FromI64Sticky(int64_t value);
double F64FromU64Sticky(uint64_t value);

}  // namespace kdl
