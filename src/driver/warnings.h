#pragma once

#include <span>
#include <string>

#include "support/diagnostics.h"

namespace kdl::driver {

/// Sets which warnings `diagnostics` reports, and which as errors, by the values of the options -W. Reports
/// unknown groups to `problems`.
/// Later options override earlier ones:
///
///   -W all             all warnings           -W GROUP          those of the group
///   -W none            no warnings            -W no-GROUP       not those of the group
///   -W error           warnings are errors    -W error=GROUP    those of the group are errors, and turned on
void SetWarnings(std::span<const std::string> choices, DiagnosticEngine& diagnostics,
                 DiagnosticEngine& problems);

}  // namespace kdl::driver
