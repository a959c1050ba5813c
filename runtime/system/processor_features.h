// Processor features that the operating system reports or has to enable.
#pragma once

namespace kdl::runtime {

// Whether the processor has the aarch64 instructions that the function is named after.
bool HasDotProducts();
bool HasI8Matrices();
bool HasBf16();
bool HasHalf();  // arithmetic on f16
// Whether the processor has SVE with products of i8 and of bf16, and with vectors of `bytes` bytes. The
// system reports the vector length for each thread.
bool HasScalableVectors(int bytes);

// Whether the processor has x86-64's AMX tiles with products of bytes and of bf16, and AVX512-BF16 for
// operands smaller than a tile. Requests tile state from the operating system, which enables it only for
// processes that request it.
bool MayUseTiles();

}  // namespace kdl::runtime
