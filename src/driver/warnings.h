#pragma once

#include <span>
#include <string>
#include <string_view>

#include "support/diagnostics.h"

namespace kdl::driver {

/// Sets which warnings of the groups in warnings.def `diagnostics` reports, and which as errors, by the values of the
/// options -W. Reports unknown groups to `problems`. Later options override earlier ones:
///
///   -W all      all groups                 -W GROUP          this group
///   -W none     no group                   -W no-GROUP       not this group
///   -W error    all groups are errors      -W error=GROUP    this group is turned on, and its warnings are errors
void SetWarnings(std::span<const std::string> choices, DiagnosticEngine& diagnostics,
                 DiagnosticEngine& problems);

/// Returns the help of an option with the names of all groups in place of `{groups}`, and those that are off without -W in
/// place of `{off}`.
std::string WithWarningGroups(std::string_view help);

}  // namespace kdl::driver
