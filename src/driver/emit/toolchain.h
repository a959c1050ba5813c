#pragma once

#include <string>
#include <vector>

#include "support/diagnostics.h"

namespace kdl::driver {

/// Links objects into a shared object. Reports an error if this fails.
bool LinkShared(const std::vector<std::string>& objects, const std::string& output,
                DiagnosticEngine& diagnostics);

/// Uses the C++ compiler to link objects, the program executor and the runtime into a program. The
/// libraries are in ../lib relative to kernelc.
bool LinkProgram(const std::vector<std::string>& objects, const std::string& output,
                 DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
