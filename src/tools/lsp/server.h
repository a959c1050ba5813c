#pragma once

#include "targets/registry.h"

namespace kdl::tools::lsp {

/// Serves an editor until it says `exit` or closes the input. Returns the exit code.
int Serve(const targets::Registry& families);

}  // namespace kdl::tools::lsp
