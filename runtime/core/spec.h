// Parses device specs (see kdl/device_spec.hpp) for the runtime. Commas separate the specs of a list.
#pragma once

#include "core/error.h"
#include "kdl/device_spec.hpp"

namespace kdl::runtime {

// Parses one spec. The kind of a plugin is stored as `plugin:PATH`, so its path is not stored separately.
Error ParseDeviceSpec(std::string_view text, DeviceSpec* spec);

// Returns the shortest spelling of a spec, with its options sorted, so that equal specs have the same
// spelling.
std::string CanonicalSpec(DeviceSpec spec);

}  // namespace kdl::runtime
