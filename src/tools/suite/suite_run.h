#pragma once

#include "driver/options.h"

namespace kdl::tools {

/// Runs the problems of the suite that --suite names, each in processes of its own. For `bench`, at the sizes
/// `scaled` and with times; for `test`, at the sizes `check` and with the interpreter. Returns the exit code.
int RunSuite(const driver::Options& options);

}  // namespace kdl::tools
