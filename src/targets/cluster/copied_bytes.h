#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::cluster {

/// What the block copies of a launch move, as a formula over its sizes, or why there is none.
std::string CopiedBytes(ir::Module& module, const ir::Function& kernel);

}  // namespace kdl::cluster
