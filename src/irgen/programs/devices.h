#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// The device's name in the module, which has it from then on.
Name NameOfDevice(ir::Module& module, const sema::Entity& device);
/// Of what stands `on` it; null: nothing says where, an empty name unless the function's file does.
Name DeviceNameOf(FunctionGen& gen, const sema::Entity* device);

}  // namespace kdl::irgen
