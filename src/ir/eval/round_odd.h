#pragma once

#include <cstdint>

// The f32 arithmetic of instructions that add products of bf16 (for neural networks). An inexact result
// becomes the neighbour whose last bit is 1, so that rounding it again to fewer digits is the same as
// rounding once. A result below the least normal number becomes zero, with its sign; one of 2^128 or more
// becomes infinite.

namespace kdl::ir {

/// Compute f32 bits from f32 bits, as an EvalFn does.
uint64_t MulToOdd(const uint64_t* operands, bool* division_by_zero);
uint64_t AddToOdd(const uint64_t* operands, bool* division_by_zero);

}  // namespace kdl::ir
