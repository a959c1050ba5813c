#pragma once

#include <cstdint>

#include "support/scalar.h"

namespace kdl {

// Floats of every scalar type as bit patterns.

double FloatValue(Scalar scalar, uint64_t bits);

/// Returns the bits of `value`, rounded once to nearest even.
uint64_t FloatBits(Scalar scalar, double value);

double LargestValue(Scalar scalar);

/// Returns whether the value rounds to something larger than the scalar's largest finite number: to infinity
/// or, for types without infinities, out of range.
bool IsBeyond(Scalar scalar, double value);

/// Returns infinity, or the largest number of a scalar type that has no infinity.
uint64_t InfinityBits(Scalar scalar, bool negative);

/// Returns the quiet NaN with a clear sign and an empty payload.
uint64_t CanonicalNan(Scalar scalar);

/// Rounds to odd: rounding the result again to 24 bits or fewer gives the same as rounding `value` to them
/// once.
double F64FromI64Sticky(int64_t value);
double F64FromU64Sticky(uint64_t value);

}  // namespace kdl
