#pragma once

#include <string>

namespace kdl::tools {

/// What comes with an installed kernelc, written from the tables of commands and options.

/// The page for man, in its macros.
std::string ManualPage();
/// A script that bash reads to complete command lines.
std::string BashCompletion();

}  // namespace kdl::tools
