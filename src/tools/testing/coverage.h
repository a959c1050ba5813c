#pragma once

#include <string>
#include <vector>

#include "targets/registry.h"

namespace kdl::tools {

/// Which rows of the compiler's tables no golden file among `files` shows: diagnostics by their id,
/// ops and builtins by their word, passes and options on a command line. One line a row, then how
/// many there are.
std::string CoverageReport(const std::vector<std::string>& files,
                           const targets::Registry& families);

}  // namespace kdl::tools
