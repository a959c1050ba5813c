#pragma once

#include <cstdint>

namespace kdl::codegen {

/// Returns the feature bits of abi.def that the processor and the operating system on which kernelc runs
/// support, except those that the host device does not use by default.
uint64_t OwnFeatures();

}  // namespace kdl::codegen
