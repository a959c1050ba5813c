#pragma once

#include <string>
#include <vector>

namespace kdl {

/// Returns the paths of the parts of libc that this process has loaded. They exist on every system, also where nothing
/// for building programs is installed.
std::vector<std::string> LoadedSystemLibraries();

}  // namespace kdl
