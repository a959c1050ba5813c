// Vector instructions of an element that compete with fused multiply-adds, counted in stdlib/math: a lower
// bound of what the kernels execute, for Work::slots.
#pragma once

namespace bench {

// Reduction to |r| <= ln 2 / 2 (4), polynomial (6), scaling (2), two limits (3: what is above is added under a mask).
inline constexpr double kExpSlots = 15;
// Square (1), both polynomials (13), |x| and its limit (2), exp, 1 - e / 8 (1), two choices (4).
inline constexpr double kErfSlots = 21 + kExpSlots;
// The argument, the half, the sum, the product.
inline constexpr double kGeluSlots = kErfSlots + 4;

}  // namespace bench
