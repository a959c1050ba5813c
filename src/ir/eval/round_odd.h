#pragma once

#include <cstdint>

// The f32 arithmetic of machine-learning instructions that add products of bf16. An inexact result is rounded
// to odd, that is, to the neighbor whose last bit is 1. If it is rounded again to fewer digits, the final
// result is the same as with a single rounding. A result below the least normal number becomes a zero of the
// same sign; a result of 2^128 or more becomes infinite.

namespace kdl::ir {

/// Compute an f32 from f32 operands, all of which are bit patterns as for an EvalFn.
uint64_t MulToOdd(const uint64_t* operands, bool* division_by_zero);
uint64_t AddToOdd(const uint64_t* operands, bool* division_by_zero);

}  // namespace kdl::ir
