#pragma once

#include "driver/compile/session.h"

namespace kdl::driver {

/// Whether --stop-after names one of the module passes, so that targets do not matter.
bool StopsInModulePasses(const Options& options, const ir::Module& module);

/// Runs the passes that do not depend on a target. The interpreter can run the result, except for
/// tiles that are not chosen yet.
PipelineEnd RunModulePasses(Session& session, ir::Module& module);

}  // namespace kdl::driver
