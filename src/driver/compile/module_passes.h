#pragma once

#include "driver/compile/session.h"

namespace kdl::driver {

/// Whether --stop-after names one of the module's passes, so that no target matters.
bool StopsInModulePasses(const Options& options, const ir::Module& module);

/// The passes that no target decides: the module is then what the interpreter runs, but for open tiles.
PipelineEnd RunModulePasses(Session& session, ir::Module& module);

}  // namespace kdl::driver
