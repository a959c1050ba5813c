#pragma once

#include <string>

namespace kdl::tools {

// Pages that `kernelc explain` prints. Those about the command line are generated from the tables of commands
// and options, and installed with kernelc.

/// Returns the man page, in roff.
std::string ManualPage();
/// Returns a bash script that completes kernelc command lines.
std::string BashCompletion();
/// Returns grammar/REFERENCE.md, the language on one page.
std::string LanguagePage();

}  // namespace kdl::tools
