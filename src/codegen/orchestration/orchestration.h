#pragma once

#include <map>
#include <string>

#include "ir/module.h"

namespace kdl::codegen {

// All functions require that the module pipeline has run on the module: constants are bound, devices
// resolved and launches ordered. Kernels may still be at tile level, since only their signatures matter.
// `runtime_name` is the name of the module in images.

/// Returns NAME.h: C11, and C++17 and C++20 on top of it. `specs` are the specs that the runtime reads, by
/// device name.
std::string PrintHeader(const ir::Module& module, const std::string& runtime_name,
                        const std::map<std::string, std::string>& specs);

/// Returns NAME.c: the kernels of NAME.h as C functions.
std::string PrintCalls(const ir::Module& module, const std::string& runtime_name);

/// Returns NAME.orch.cpp: the definitions of everything else that NAME.h declares.
std::string PrintOrchestration(const ir::Module& module, const std::string& runtime_name);

/// Returns NAME.orch.c: the programs that NAME.h declares for C, for callers without C++.
std::string PrintCOrchestration(const ir::Module& module, const std::string& runtime_name,
                                const std::map<std::string, std::string>& specs);

}  // namespace kdl::codegen
