#pragma once

#include <string_view>

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::driver {

/// Writes the diagnostics to standard error, as text or JSON. Colour follows the terminal and
/// NO_COLOR.
void PrintDiagnostics(const DiagnosticEngine& diagnostics, const SourceManager& sources,
                      std::string_view format);

/// Writes to standard output and says so where that fails (a full disk, a closed pipe): false.
bool PrintOutput(std::string_view text);

}  // namespace kdl::driver
