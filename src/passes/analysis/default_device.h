#pragma once

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// The first device that the compiled file declares, or `host`, which a module without one gets.
Name DefaultDevice(ir::Module& module);

/// How many devices the compiled file declares; those of imported files, `lib::npu`, are declared elsewhere.
size_t OwnDevices(const ir::Module& module);

}  // namespace kdl::passes
