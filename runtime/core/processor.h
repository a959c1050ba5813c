// What this machine's processor is and has.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/error.h"

namespace kdl::runtime {

// The architecture that this runtime was compiled for: "x86-64".
const char* ProcessorArch();

// Feature bits of abi.def that the processor has.
std::uint64_t ProcessorFeatures();

// Those of them that pay: what a device uses that was not told a level. Code without the others gives the same bits, faster.
std::uint64_t UsualFeatures();

// The features that a level such as "x86-64-v3" may use. Fails where the level is unknown or this
// processor lacks some of them.
Error FeaturesOfLevel(std::string_view level, std::uint64_t* features);

}  // namespace kdl::runtime
