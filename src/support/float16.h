#pragma once

#include <cstdint>

namespace kdl {

// Two-byte floats as bit patterns. Every conversion rounds once, to nearest even; a NaN stays a NaN.

uint16_t F16FromF64(double value);
uint16_t Bf16FromF64(double value);
double F64FromF16(uint16_t bits);
double F64FromBf16(uint16_t bits);

/// The f64 that, rounded once more to 24 bits or fewer, gives what rounding `value` itself once would (round to odd).
double F64FromI64Sticky(int64_t value);
double F64FromU64Sticky(uint64_t value);

}  // namespace kdl
