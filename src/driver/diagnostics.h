#pragma once

#include <string_view>

#include "support/diagnostics.h"

namespace kdl::driver {

namespace diag {
#define KDL_DIAGNOSTIC KDL_DECLARE_DIAGNOSTIC
#include "driver/diagnostics.def"
#undef KDL_DIAGNOSTIC
}  // namespace diag

inline constexpr DiagnosticRow kDiagnosticRows[] = {
#define KDL_DIAGNOSTIC KDL_DIAGNOSTIC_ROW
#include "driver/diagnostics.def"
#undef KDL_DIAGNOSTIC
};

inline constexpr int kExitDone = 0;
inline constexpr int kExitInput = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitEnvironment = 3;

/// Returns the exit code of the process: 0 if there are no errors. Otherwise, the ids of the errors
/// determine it: E090x and E097x are usage errors, E098x are problems of the machine.
int ExitCodeOf(const DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
