#pragma once

#include <cstdint>

// Arithmetic of f32 as instructions have it that sum up products of bf16 for networks: a result that is not exact is the one of the
// two numbers next to it whose last bit is set, so that rounding it once more, to fewer digits, is as good as rounding once.
// What is less than the least normal number is the zero of its sign; what is 2^128 or more is infinite.

namespace kdl::ir {

/// Bits of f32 from bits of f32, as EvalFn has them.
uint64_t MulToOdd(const uint64_t* operands, bool* division_by_zero);
uint64_t AddToOdd(const uint64_t* operands, bool* division_by_zero);

}  // namespace kdl::ir
