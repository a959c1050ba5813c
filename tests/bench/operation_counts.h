// Vector instructions for each element that compete with fused multiply-adds, counted in stdlib/math. They
// are a lower bound of what the kernels execute, for Work::slots and Work::divisions.
#pragma once

namespace bench {

// Reduction to |r| <= ln 2 / 2 (4), polynomial (6), scaling (2), two limits (3: the upper one is a masked
// addition).
inline constexpr double kExpSlots = 15;
// Both limits (2), square (1), two polynomials (10), sum (2).
inline constexpr double kErfSlots = 15;
inline constexpr double kErfDivisions = 1;
// The argument, the half, the sum, the product.
inline constexpr double kGeluSlots = kErfSlots + 4;
inline constexpr double kGeluDivisions = kErfDivisions;

}  // namespace bench
