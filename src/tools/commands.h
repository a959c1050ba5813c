#pragma once

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

// Each command has a function. It writes its results to standard output and its diagnostics to
// standard error, and returns the exit code.
#define KDL_COMMAND(kind, name, words, most_files, summary, more) \
  int Run##kind(const driver::Options& options, const targets::Registry& families);
#include "driver/commands.def"

}  // namespace kdl::tools
