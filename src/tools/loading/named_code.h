#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

/// Returns the files whose code would be run by the device specs in a command-line argument:
/// SPEC,SPEC, NAME=SPEC or --option=SPEC.
std::vector<std::string> CodeFilesIn(std::string_view word, const targets::Registry& families);

/// Allows the code that the command line itself names to run.
void AllowNamed(const driver::Options& options, targets::Registry& families);

}  // namespace kdl::tools
