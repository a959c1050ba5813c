#pragma once

#include <string>
#include <vector>

#include "support/diagnostics.h"

namespace kdl::driver {

/// Links objects into a shared object with lld. Reports a missing or failing linker.
bool LinkShared(const std::vector<std::string>& objects, const std::string& output,
                DiagnosticEngine& diagnostics);

/// Links objects, the program executor and the runtime into a program, with the C++ compiler. The
/// libraries are in ../lib relative to kernelc.
bool LinkProgram(const std::vector<std::string>& objects, const std::string& output,
                 DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
