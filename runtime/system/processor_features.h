// What the operating system tells, or lets this process have, of the processor.
#pragma once

namespace kdl::runtime {

// Instructions of aarch64.
bool HasDotProducts();
bool HasI8Matrices();
bool HasBf16();
bool HasHalf();  // arithmetic of f16
// SVE, with its products of narrow numbers, whose vectors are as long here: the system says so, of this thread.
bool HasScalableVectors(int bytes);

// Tiles of x86-64 with products of bytes and of bf16, and AVX512-BF16 for what fills none. The kernel gives them to a process that asks; this asks.
bool MayUseTiles();

}  // namespace kdl::runtime
