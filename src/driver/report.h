#pragma once

#include <string_view>

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::driver {

inline constexpr std::string_view kCompilerName = "kernelc";

/// Writes the diagnostics to standard error, as text or JSON. Colour follows the terminal and
/// NO_COLOR.
/// `program`: who speaks where there is no place in a source.
void PrintDiagnostics(const DiagnosticEngine& diagnostics, const SourceManager& sources,
                      std::string_view format, std::string_view program = kCompilerName);

/// Writes to standard output and says so where that fails (a full disk, a closed pipe): false.
bool PrintOutput(std::string_view text, std::string_view program = kCompilerName);

/// Writes to standard error what nobody has to see: times, how far the work is. Where that fails it is lost.
void PrintAside(std::string_view text);

}  // namespace kdl::driver
