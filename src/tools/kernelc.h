#pragma once

#include "targets/registry.h"

namespace kdl::tools {

/// `kernelc` for the families: reads the command line, does what it says, and gives the exit code.
int RunKernelc(int argc, char** argv, targets::Registry families);

}  // namespace kdl::tools
