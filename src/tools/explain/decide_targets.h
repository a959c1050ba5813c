#pragma once

#include "driver/compile/compile.h"

namespace kdl::tools {

/// Compiles the kernels that --kernel names for the targets in the options. Stops after tiles and
/// pipes are decided.
driver::Compilation DecideTargets(driver::Session& session, driver::SelectorAround around = {});

}  // namespace kdl::tools
