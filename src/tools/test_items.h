#pragma once

#include <string>

#include "driver/options.h"

namespace kdl::tools {

/// Runs the program that a `test` of the options' file is, on the options' target. Reports the first `expect` that does
/// not hold, or what else goes wrong; true where nothing does.
bool RunTestItem(const driver::Options& options, const std::string& program);

}  // namespace kdl::tools
