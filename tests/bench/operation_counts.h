// The number of vector instructions per element that compete with fused multiply-adds, counted in
// stdlib/math. For Work::slots and Work::divisions, this is a lower bound of what the kernels execute.
#pragma once

namespace bench {

// Reduction to |r| <= ln 2 / 2 (4), polynomial (6), scaling (2), two bounds (3: the upper bound is a masked
// addition).
inline constexpr double kExpSlots = 15;
// Both bounds (2), square (1), two polynomials (10), sum (2).
inline constexpr double kErfSlots = 15;
inline constexpr double kErfDivisions = 1;
// erf, its argument, the factor 1/2, the sum, and the product.
inline constexpr double kGeluSlots = kErfSlots + 4;
inline constexpr double kGeluDivisions = kErfDivisions;

}  // namespace bench
