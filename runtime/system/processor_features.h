// What the operating system tells, or lets this process have, of the processor.
#pragma once

namespace kdl::runtime {

// Instructions of aarch64.
bool HasDotProducts();
bool HasI8Matrices();
bool HasBf16();

// Tiles of x86-64 with products of bytes. The kernel gives them to a process that asks; this asks.
bool MayUseTiles();

}  // namespace kdl::runtime
