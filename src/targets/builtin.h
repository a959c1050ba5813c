#pragma once

#include "targets/registry.h"

namespace kdl::targets {

/// Returns a registry with kernelc's own families. This is the only place that names them.
Registry BuiltinFamilies();

}  // namespace kdl::targets
