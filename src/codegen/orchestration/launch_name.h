#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::codegen {

/// The name under which the runtime finds what a launch calls: `MODULE.matmul`, `MODULE.matmul<BM=32>`.
std::string LaunchName(const ir::Module& module, const ir::Op* launch);

}  // namespace kdl::codegen
