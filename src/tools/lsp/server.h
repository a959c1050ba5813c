#pragma once

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools::lsp {

/// Serves an editor until it says `exit` or closes the input. Checks files with the values of -D. Returns the exit code.
int Serve(const targets::Registry& families, const driver::OptionTexts& defines);

}  // namespace kdl::tools::lsp
