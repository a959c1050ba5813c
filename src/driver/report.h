#pragma once

#include <string_view>

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::driver {

inline constexpr std::string_view kCompilerName = "kernelc";

/// Writes the diagnostics to standard error, as text or JSON. Uses colour on terminals unless
/// NO_COLOR is set. `program` is the prefix of diagnostics that have no source position.
void PrintDiagnostics(const DiagnosticEngine& diagnostics, const SourceManager& sources,
                      std::string_view format, std::string_view program = kCompilerName);

/// Writes to standard output. Reports an error and returns false if that fails, for example because
/// the disk is full.
bool PrintOutput(std::string_view text, std::string_view program = kCompilerName);

/// Writes inessential text, such as times and progress, to standard error. Errors are ignored.
void PrintAside(std::string_view text);

}  // namespace kdl::driver
