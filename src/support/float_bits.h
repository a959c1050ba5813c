#pragma once

#include <cstdint>

#include "support/scalar.h"

namespace kdl {

// Floats of any kind as bit patterns.

double FloatValue(Scalar scalar, uint64_t bits);

/// The value, rounded once to nearest even.
uint64_t FloatBits(Scalar scalar, double value);

double LargestValue(Scalar scalar);

/// Whether the number rounds to one beyond the scalar's largest: an infinity, or what has none.
bool IsBeyond(Scalar scalar, double value);

/// Infinity, or the largest number of a scalar that has none.
uint64_t InfinityBits(Scalar scalar, bool negative);

/// The quiet NaN without sign and payload.
uint64_t CanonicalNan(Scalar scalar);

/// The f64 that, rounded once more to 24 bits or fewer, gives what rounding `value` itself once would (round to odd).
double F64FromI64Sticky(int64_t value);
double F64FromU64Sticky(uint64_t value);

}  // namespace kdl
