// What the operating system tells, or lets this process have, of the processor.
#pragma once

namespace kdl::runtime {

// Instructions of aarch64.
bool HasDotProducts();
bool HasI8Matrices();
bool HasBf16();

}  // namespace kdl::runtime
