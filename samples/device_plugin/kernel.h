// Runs one launch, core after core, on the thread that calls.
#pragma once

#include "kdl/device_plugin.h"

namespace sample {

// Gives the trap of the core that stopped it, as an error.
kdl_error* RunKernel(const kdl_plugin_host& host, const kdl_launch_request& request);

}  // namespace sample
