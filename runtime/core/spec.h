// Device specs as the runtime takes them (kdl/device_spec.hpp); several are separated by commas.
#pragma once

#include "core/error.h"
#include "kdl/device_spec.hpp"

namespace kdl::runtime {

// The kind of a plugin's devices is `plugin:PATH` here, and no path is apart from it.
Error ParseDeviceSpec(std::string_view text, DeviceSpec* spec);

// The shortest spelling; options sorted, so that equal devices have equal text.
std::string CanonicalSpec(DeviceSpec spec);

}  // namespace kdl::runtime
