#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::cluster {

/// Returns the number of bytes that the block copies of a launch move, as a formula in the launch's sizes. If
/// there is no formula, returns the reason.
std::string CopiedBytes(ir::Module& module, const ir::Function& kernel);

}  // namespace kdl::cluster
