#pragma once

#include <filesystem>

namespace kdl::driver {

/// Returns the folder that contains bin/kernelc.
std::filesystem::path OwnRoot();

}  // namespace kdl::driver
