#pragma once

#include "support/diagnostics.h"

namespace kdl::sema {

namespace diag {
#define KDL_DIAGNOSTIC KDL_DECLARE_DIAGNOSTIC
#include "sema/diagnostics.def"
#undef KDL_DIAGNOSTIC
}  // namespace diag

inline constexpr DiagnosticRow kDiagnosticRows[] = {
#define KDL_DIAGNOSTIC KDL_DIAGNOSTIC_ROW
#include "sema/diagnostics.def"
#undef KDL_DIAGNOSTIC
};

}  // namespace kdl::sema
