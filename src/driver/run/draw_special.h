#pragma once

#include <cstdint>

#include "driver/run/host_tensor.h"

namespace kdl::driver {

/// Fills an argument as `random` does, but for one element of four, which is a number at which code goes wrong: of floats zeros,
/// ends of the normal and subnormal numbers, infinities, quiet and signaling NaNs with any payload, powers of two and their
/// neighbors, ends of integer types, and numbers halfway between two of a shorter type, each of both signs; of integers the ends,
/// powers of two and their neighbors, and what lies halfway between two floats. A tensor's bool is any byte.
void DrawSpecial(HostTensor& tensor, bool is_tensor, uint64_t seed);

}  // namespace kdl::driver
