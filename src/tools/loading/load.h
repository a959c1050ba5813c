#pragma once

#include "driver/compile/compile.h"
#include "driver/run/run_place.h"

namespace kdl::tools {

/// Creates a runtime context with the compiled kernels, for execution on this machine. On error,
/// reports it and returns null.
driver::Context Load(driver::Session& session, driver::Compilation& made);

}  // namespace kdl::tools
