#pragma once

#include <cstdint>

#include "driver/host_tensor.h"

namespace kdl::driver {

/// Element n of the random tensor of this seed: the same bits on every machine, whatever is drawn
/// before it.
///
/// With x = mix(mix(seed) + n), mix being the finalizer of SplitMix64 (x += 0x9e3779b97f4a7c15,
/// then two xor-shift- multiply rounds and a last xor-shift) and u its highest bits:
///   floats  k * 2^(1 - p) - 1 with k the p highest bits of x, p = 4, 3, 11, 8, 24, 53 of f8e4m3, f8e5m2, f16, bf16, f32, f64:
///   exact, in [-1, 1) signed integers      -100 to 100:  x mod 201 - 100 unsigned integers    0 to
///   100:     x mod 101 bool                 the highest bit
uint64_t DrawElement(Scalar scalar, uint64_t seed, uint64_t n);

/// Fills the whole tensor; its bytes have their size already.
void Draw(HostTensor& tensor, uint64_t seed);

}  // namespace kdl::driver
