#pragma once

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

// One function for each command. It writes its results to standard output and its diagnostics to
// standard error. It returns the exit code.
#define KDL_COMMAND(kind, name, words, most_files, summary, more) \
  int Run##kind(const driver::Options& options, const targets::Registry& families);
#include "driver/commands.def"

}  // namespace kdl::tools
