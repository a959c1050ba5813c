// The number of vector instructions per element that compete with fused multiply-adds, counted in
// stdlib/math. For Work::slots and Work::divisions, this is a lower bound on what the kernels execute.
#pragma once

namespace bench {

// Counts the reduction to |r| <= ln 2 / 2 (4), the polynomial (6), the scaling (2), and two bounds (3: the
// upper bound is a masked addition).
inline constexpr double kExpSlots = 15;
// Counts both bounds (2), a square (1), two polynomials (10), and a sum (2).
inline constexpr double kErfSlots = 15;
inline constexpr double kErfDivisions = 1;
// Counts erf, its argument, the factor 1/2, the sum, and the product.
inline constexpr double kGeluSlots = kErfSlots + 4;
inline constexpr double kGeluDivisions = kErfDivisions;

}  // namespace bench
