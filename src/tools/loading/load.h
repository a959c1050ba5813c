#pragma once

#include "driver/compile/compile.h"
#include "driver/run/run_place.h"

namespace kdl::tools {

/// A runtime that knows the kernels of a compile, as this machine runs them. Null after a report.
driver::Context Load(driver::Session& session, driver::Compilation& made);

}  // namespace kdl::tools
