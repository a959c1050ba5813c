#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::cluster {

/// Returns the bytes that the block copies of a launch move, as a formula over its sizes, or the reason why
/// there is no formula.
std::string CopiedBytes(ir::Module& module, const ir::Function& kernel);

}  // namespace kdl::cluster
