#pragma once

#include "targets/registry.h"

namespace kdl::targets {

/// Returns a registry that contains kernelc's built-in families of targets. No other code lists these
/// families.
Registry BuiltinFamilies();

}  // namespace kdl::targets
