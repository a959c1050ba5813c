// Processor features that the operating system reports, or has to enable.
#pragma once

namespace kdl::runtime {

// aarch64 instructions.
bool HasDotProducts();
bool HasI8Matrices();
bool HasBf16();
bool HasHalf();  // arithmetic on f16
// Whether there is SVE with products of narrow numbers and vectors of this length, which the system reports
// for each thread.
bool HasScalableVectors(int bytes);

// Whether there are x86-64's AMX tiles with products of bytes and of bf16, and AVX512-BF16 for operands
// smaller than a tile. Requests tile state from the kernel, which only enables it for processes that ask.
bool MayUseTiles();

}  // namespace kdl::runtime
