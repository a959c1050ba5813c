// The processor of this machine and its features.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/error.h"

namespace kdl::runtime {

// Returns the architecture for which this runtime was compiled, such as "x86-64".
const char* ProcessorArch();

// Returns the feature bits (see abi.def) of the features that the processor has.
std::uint64_t ProcessorFeatures();

// Returns the features that a device uses by default: all features that the processor has, except those that
// make code slower without changing its results.
std::uint64_t UsualFeatures();

// Stores the features that code for a level such as "x86-64-v3" may use. Fails if the level is unknown or
// this processor lacks one of the features.
Error FeaturesOfLevel(std::string_view level, std::uint64_t* features);

}  // namespace kdl::runtime
