#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Returns the device's name in the module. Adds the device to the module if the module does not have it yet.
Name NameOfDevice(ir::Module& module, const sema::Entity& device);
/// Returns the name of a device in the module. If `device` is null, returns the function's own device or, in
/// a test, the device under test. Returns the empty name if there is no device.
Name DeviceNameOf(FunctionGen& gen, const sema::Entity* device);

}  // namespace kdl::irgen
