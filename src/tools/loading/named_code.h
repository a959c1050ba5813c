#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

/// The files whose code the device specs in a word of a command line run: of SPEC,SPEC, NAME=SPEC or --option=SPEC.
std::vector<std::string> CodeFilesIn(std::string_view word, const targets::Registry& families);

/// Lets run what the command line names itself.
void AllowNamed(const driver::Options& options, targets::Registry& families);

}  // namespace kdl::tools
