#pragma once

#include "driver/options.h"
#include "ir/module.h"

namespace kdl::driver {

/// A file that declares no device gets the one that the first --device NAME=SPEC names: what does not say where runs there.
void GiveDevice(ir::Module& module, const Options& options);

}  // namespace kdl::driver
