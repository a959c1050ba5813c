#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/compile_target.h"
#include "driver/run_program.h"

namespace kdl::tools {

/// What the module's devices stand for where all of them are one of the targets, by target; then all together, for one
/// compile. Nothing after a report.
std::optional<driver::DeviceSpecs> ResolveTargets(
    driver::Compilation& c, const std::vector<std::string>& targets,
    std::map<std::string, driver::DeviceSpecs>& by_target);

/// Everything up to code that the runtime can load. Nothing after a report.
std::optional<driver::Code> CompileAll(driver::Compilation& c, const driver::DeviceSpecs& specs);

/// A runtime that knows the program's kernels, as this machine runs them. Null after a report.
driver::Context Load(driver::Compilation& c, driver::Code& code);

}  // namespace kdl::tools
