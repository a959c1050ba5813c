// Parses device specs (kdl/device_spec.hpp) for the runtime. Commas separate several specs.
#pragma once

#include "core/error.h"
#include "kdl/device_spec.hpp"

namespace kdl::runtime {

// In the result, a plugin's kind is `plugin:PATH`, and the path is not stored separately.
Error ParseDeviceSpec(std::string_view text, DeviceSpec* spec);

// Returns the shortest spelling with sorted options, so that equal devices have equal texts.
std::string CanonicalSpec(DeviceSpec spec);

}  // namespace kdl::runtime
