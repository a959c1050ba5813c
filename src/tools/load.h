#pragma once

#include <optional>

#include "driver/compile.h"
#include "driver/compile_target.h"
#include "driver/run_program.h"

namespace kdl::tools {

/// Everything up to code that the runtime can load. Nothing after a report.
std::optional<driver::Code> CompileAll(driver::Compilation& c, const driver::DeviceSpecs& specs);

/// A runtime that knows the program's kernels. Null after a report.
driver::Context Load(driver::Compilation& c, const driver::Code& code);

}  // namespace kdl::tools
