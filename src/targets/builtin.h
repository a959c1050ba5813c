#pragma once

#include "targets/registry.h"

namespace kdl::targets {

/// The families of kernelc itself: the one place that names them.
Registry BuiltinFamilies();

}  // namespace kdl::targets
