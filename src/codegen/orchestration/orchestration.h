#pragma once

#include <map>
#include <string>

#include "codegen/common/call_table.h"
#include "ir/module.h"

namespace kdl::codegen {

// All functions require that the module pipeline has already run on the module: constants are bound, devices
// are resolved, and launches are ordered. Kernels need not have been lowered, since only their signatures
// matter. `runtime_name` is the name of the module in images.

/// Returns NAME.h, a header for C11 with additional declarations for C++17 and C++20. `specs` contains, by
/// device name, the specs that the runtime reads.
std::string PrintHeader(const ir::Module& module, const std::string& runtime_name,
                        const std::map<std::string, std::string>& specs);

/// Returns NAME.c, which defines the kernels that NAME.h declares as C functions.
std::string PrintCalls(const ir::Module& module, const std::string& runtime_name);

/// The texts of a Python project with the kernels.
struct PythonProject {
  std::string package;  ///< the name of the package
  std::string project;  ///< pyproject.toml
  std::string init;     ///< __init__.py
  std::string stubs;    ///< __init__.pyi
  std::string torch;    ///< torch.py, which registers the kernels with PyTorch
};

/// Returns a project whose kernels run on the device of a spec. The folder `inner` of the package contains what
/// calls them, and `images` the kernels. If `description` is empty, the project's description lists the kernels.
PythonProject PrintPython(const ir::Module& module, const std::string& runtime_name,
                          const std::string& device, const std::string& inner,
                          const std::string& images, const std::string& description);

/// Returns what NAME.c defines, as data.
CallTable CallTableOf(const ir::Module& module, const std::string& runtime_name);

/// Returns NAME.ffi.c, which defines the kernels as functions of the TVM FFI. They run on the device of a spec.
std::string PrintFfi(const ir::Module& module, const std::string& runtime_name,
                     const std::string& device);

/// Returns NAME.orch.cpp, which defines everything else that NAME.h declares.
std::string PrintOrchestration(const ir::Module& module, const std::string& runtime_name);

/// Returns NAME.orch.c, which defines the programs that NAME.h declares for C, for callers without C++.
std::string PrintCOrchestration(const ir::Module& module, const std::string& runtime_name,
                                const std::map<std::string, std::string>& specs);

}  // namespace kdl::codegen
