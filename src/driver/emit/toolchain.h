#pragma once

#include <string>
#include <vector>

#include "codegen/common/call_table.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// Links objects into a shared object that only the runtime can load. Reports an error if this fails.
bool LinkImages(const std::vector<std::string>& objects, const std::string& output,
                DiagnosticEngine& diagnostics);

/// Links objects and the runtime into a library `name` that exports the functions of `table` and those of the runtime.
/// The file `objects[0] + ".map"` lists them for the linker. Reports an error if this fails.
bool LinkLibrary(std::vector<std::string> objects, const std::string& output,
                 const codegen::CallTable& table, const std::string& name,
                 DiagnosticEngine& diagnostics);

/// Uses the C++ compiler to link objects, the program executor and the runtime into a program. The
/// libraries are in ../lib relative to kernelc.
bool LinkProgram(const std::vector<std::string>& objects, const std::string& output,
                 DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
