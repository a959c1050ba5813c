#pragma once

#include <string>
#include <vector>

#include "targets/registry.h"

namespace kdl::tools {

/// Reports which rows of the compiler's tables are not shown by any golden file in `files`.
/// Diagnostics are searched by id, ops and builtins by their names, passes and options on command
/// lines. Prints one line per row, then the totals.
std::string CoverageReport(const std::vector<std::string>& files,
                           const targets::Registry& families);

}  // namespace kdl::tools
