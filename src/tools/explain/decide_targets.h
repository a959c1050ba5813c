#pragma once

#include "driver/compile/compile.h"

namespace kdl::tools {

/// Compiles the kernels that --kernel names for the targets in the options. Stops once the tile
/// sizes and the layout of the pipes are known.
driver::Compilation DecideTargets(driver::Session& session, driver::SelectorAround around = {});

}  // namespace kdl::tools
