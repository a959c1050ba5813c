#pragma once

#include "targets/registry.h"

namespace kdl::tools {

/// Runs `kernelc` with the given target families: parses the command line, executes the command,
/// and returns the exit code.
int RunKernelc(int argc, char** argv, targets::Registry families);

}  // namespace kdl::tools
