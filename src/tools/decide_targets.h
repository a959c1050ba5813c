#pragma once

#include "driver/compile.h"
#include "driver/compile_target.h"

namespace kdl::tools {

/// The targets that the options name, with their tiles and pipes decided; false after a report.
bool DecideTargets(driver::Compilation& compilation, driver::Code& code);

}  // namespace kdl::tools
