// Runs a launch on the calling thread, one core after another.
#pragma once

#include "kdl/device_plugin.h"

namespace sample {

// If a core traps, returns its trap as an error.
kdl_error* RunKernel(const kdl_plugin_host& host, const kdl_launch_request& request);

}  // namespace sample
