#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

/// Returns the files with code that the device specs in a command-line argument would run. The
/// argument has the form SPEC,SPEC, NAME=SPEC or --option=SPEC.
std::vector<std::string> CodeFilesIn(std::string_view word, const targets::Registry& families);

/// Returns the code files that the command line itself names.
std::vector<std::string> NamedCodeFiles(const driver::Options& options,
                                        const targets::Registry& families);

}  // namespace kdl::tools
