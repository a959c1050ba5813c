#pragma once

#include "support/diagnostics.h"

namespace kdl::syntax {

namespace diag {
#define KDL_DIAGNOSTIC KDL_DECLARE_DIAGNOSTIC
#include "syntax/diagnostics.def"
#undef KDL_DIAGNOSTIC
}  // namespace diag

inline constexpr DiagnosticRow kDiagnosticRows[] = {
#define KDL_DIAGNOSTIC KDL_DIAGNOSTIC_ROW
#include "syntax/diagnostics.def"
#undef KDL_DIAGNOSTIC
};

}  // namespace kdl::syntax
