#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Returns the device's name in the module, and adds the device to the module if needed.
Name NameOfDevice(ir::Module& module, const sema::Entity& device);
/// Returns the module's name of a device. If `device` is null, this is the function's own device, or the
/// tested one in a test; empty if there is none.
Name DeviceNameOf(FunctionGen& gen, const sema::Entity* device);

}  // namespace kdl::irgen
