#pragma once

#include "driver/compile/session.h"

namespace kdl::driver {

/// Whether --stop-after names a module pass. In that case, no target is needed.
bool StopsInModulePasses(const Options& options, const ir::Module& module);

/// Runs the passes that do not depend on a target. The interpreter can run the result, except for
/// kernels whose tile sizes are not chosen yet.
PipelineEnd RunModulePasses(Session& session, ir::Module& module);

/// Reports the static assertions that are false for every target. If code is generated, the passes of a target
/// check all of them.
PipelineEnd CheckStatics(Session& session, ir::Module& module);

}  // namespace kdl::driver
