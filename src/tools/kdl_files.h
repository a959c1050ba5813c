#pragma once

#include <string>
#include <vector>

namespace kdl::tools {

/// Returns the listed files, and the .kdl files in the listed folders, sorted by name.
std::vector<std::string> FindKdlFiles(const std::vector<std::string>& paths);

}  // namespace kdl::tools
