#pragma once

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// Returns the first device that the compiled file declares. If it declares none, adds a device `host` and
/// returns that.
Name DefaultDevice(ir::Module& module);

/// Returns the number of devices that the compiled file itself declares. Devices of imported files, such as
/// `lib::npu`, do not count.
size_t OwnDevices(const ir::Module& module);

}  // namespace kdl::passes
