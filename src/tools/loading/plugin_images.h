#pragma once

#include <string>

#include "support/result.h"

namespace kdl::tools {

/// The kind of images that the devices of the shared object at `path` take (kdl/device_plugin.h).
Result<std::string> PluginImageKind(const std::string& path);

}  // namespace kdl::tools
