// Vector instructions of an element that compete with fused multiply-adds, counted in stdlib/math: a lower
// bound of what the kernels execute, for Work::slots.
#pragma once

namespace bench {

// Reduction to |r| <= ln 2 / 2 (5), polynomial (6), scaling (2), two limits (4).
inline constexpr double kExpSlots = 17;
// Square (1), both polynomials (14), two limits (2), exp of the negative (1 + kExpSlots), two choices (7).
inline constexpr double kErfSlots = 42;
// The argument, the half, the product.
inline constexpr double kGeluSlots = kErfSlots + 3;

}  // namespace bench
