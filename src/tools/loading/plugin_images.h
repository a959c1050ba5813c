#pragma once

#include <string>

#include "support/result.h"

namespace kdl::tools {

/// Returns the kind of images that the devices of the plugin at `path` accept (see
/// kdl/device_plugin.h).
Result<std::string> PluginImageKind(const std::string& path);

}  // namespace kdl::tools
