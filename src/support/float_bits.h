#pragma once

#include <cstdint>

#include "support/scalar.h"

namespace kdl {

// Floats of any kind as bit patterns.

double FloatValue(Scalar scalar, uint64_t bits);

/// The value, rounded once to nearest even.
uint64_t FloatBits(Scalar scalar, double value);

/// The quiet NaN without sign and payload.
uint64_t CanonicalNan(Scalar scalar);

}  // namespace kdl
