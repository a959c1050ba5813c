#pragma once

#include <string>

#include "targets/family.h"

namespace kdl::driver {

/// Returns a pipeline file with the passes of a target's family and the default values of their options.
/// Comments in it explain the options, and list the variables that values may use.
std::string DumpPipeline(const targets::Target& target);

}  // namespace kdl::driver
