#pragma once

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

// One function a command: what it prints goes to standard output, diagnostics to standard error.
// Gives the exit code.
#define KDL_COMMAND(kind, name, words, most_files, summary, more) \
  int Run##kind(const driver::Options& options, const targets::Registry& families);
#include "driver/commands.def"

}  // namespace kdl::tools
