#pragma once

#include "driver/options.h"
#include "ir/module.h"

namespace kdl::driver {

/// If the file declares no device, adds the device that the first --device NAME=SPEC names.
/// Launches that do not specify a device run on it.
void GiveDevice(ir::Module& module, const Options& options);

}  // namespace kdl::driver
