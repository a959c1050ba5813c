// The processor of this machine and its features.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/error.h"

namespace kdl::runtime {

// Returns the architecture that this runtime was compiled for: "x86-64".
const char* ProcessorArch();

// Returns the feature bits of abi.def that the processor has.
std::uint64_t ProcessorFeatures();

// Returns the features that a device uses unless it was given a level. It omits features that do not pay:
// code without them gives the same bits, faster.
std::uint64_t UsualFeatures();

// Stores the features that a level such as "x86-64-v3" may use. Fails if the level is unknown or this
// processor lacks some of them.
Error FeaturesOfLevel(std::string_view level, std::uint64_t* features);

}  // namespace kdl::runtime
