#pragma once

#include <cstdint>

#include "driver/run/host_tensor.h"

namespace kdl::driver {

/// Returns element n of an argument that is like `random`, except that one element in four is a number that often reveals
/// errors. Because a NaN can hide the effects of other numbers, even seeds draw no NaNs, and if the seed is a multiple
/// of 10, all floats are zeros of both signs or the smallest subnormal numbers.
/// For floats, those numbers have either sign and are:
///   - zeros, infinities, quiet and signaling NaNs with any payload
///   - the smallest and largest normal and subnormal numbers
///   - powers of two and their neighbours, and the limits of integer types
///   - numbers halfway between two adjacent numbers of a shorter type.
/// For integers, they are the limits of the type, powers of two and their neighbours, and numbers
/// halfway between two adjacent floats. A bool in a tensor can be any byte.
uint64_t SpecialElement(Scalar scalar, bool is_tensor, uint64_t seed, uint64_t n);

}  // namespace kdl::driver
