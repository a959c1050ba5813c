#pragma once

#include <map>
#include <string>

#include "ir/module.h"

namespace kdl::codegen {

// All read the module after the module pipeline: constants bound, devices resolved, launches ordered. Kernels may
// still be tiles; only their signatures matter. `runtime_name`: what the images call the module.

/// NAME.h: C11, and C++17 and C++20 over it. `specs`: what the runtime is to read for each device, by its name.
std::string PrintHeader(const ir::Module& module, const std::string& runtime_name,
                        const std::map<std::string, std::string>& specs);

/// NAME.c: the kernels of NAME.h as functions of C.
std::string PrintCalls(const ir::Module& module, const std::string& runtime_name);

/// NAME.orch.cpp: the rest of what NAME.h declares.
std::string PrintOrchestration(const ir::Module& module, const std::string& runtime_name);

/// NAME.orch.c: the programs of what NAME.h declares for C, for callers who have no C++.
std::string PrintCOrchestration(const ir::Module& module, const std::string& runtime_name,
                                const std::map<std::string, std::string>& specs);

}  // namespace kdl::codegen
