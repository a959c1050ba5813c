#pragma once

#include <string>

namespace kdl::tools {

/// Files that are installed with kernelc. They are generated from the tables of commands and
/// options.

/// Returns the man page, in roff.
std::string ManualPage();
/// Returns a bash script that completes kernelc command lines.
std::string BashCompletion();

}  // namespace kdl::tools
