#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::codegen {

// Both read the module after the module pipeline: constants bound, devices resolved, launches ordered. Kernels may
// still be tiles; only their signatures matter. The specs of the module's devices are those that the runtime reads: the
// keys that only the compiler knows are gone.

/// NAME.h: C11, and C++20 over it.
std::string PrintHeader(const ir::Module& module);

/// NAME.orch.cpp: what NAME.h declares.
std::string PrintOrchestration(const ir::Module& module);

}  // namespace kdl::codegen
