#pragma once

#include <string>
#include <vector>

#include "targets/registry.h"

namespace kdl::tools {

/// Reports which rows of the compiler's tables do not occur in any golden file in `files`. Searches
/// for diagnostics by id, for ops and builtins by name, and for passes and options by their use on
/// command lines. Prints one line for each row, followed by the totals.
std::string CoverageReport(const std::vector<std::string>& files,
                           const targets::Registry& families);

}  // namespace kdl::tools
