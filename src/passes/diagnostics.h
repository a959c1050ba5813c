#pragma once

#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace kdl::passes {

namespace diag {
#define KDL_DIAGNOSTIC KDL_DECLARE_DIAGNOSTIC
#include "passes/diagnostics.def"
}  // namespace diag

/// Returns the rows of diagnostics.def, for `kernelc explain`.
const std::vector<DiagnosticRow>& DiagnosticRows();

}  // namespace kdl::passes
